#!/usr/bin/env bash
# Builds what the machine tests need: a Debian 13 tree with the real picamera2 on libcamera (the installer's test has it
# for a ground, too), and a small virtual machine with the kernel's simulated GPIO chip and webcam. Needs root on a Debian machine.
#
#   tests/machine/prepare.sh [packages|camera|vm|arm64|all]     (default: packages, camera and vm)
#
# Everything lands in $AUSGUCK_MACHINE_CACHE (/var/cache/ausguck-tests), each tree with a stamp of its recipe:
# a second call costs a second, and a call that was broken off leaves nothing half built behind.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AUSGUCK_MACHINE_CACHE:-/var/cache/ausguck-tests}
export DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=

say() { printf 'prepare: %s (%s s)\n' "$*" "$SECONDS" >&2; }
refuse() { printf 'prepare: %s\n' "$*" >&2; exit 2; }

[ "$(id -u)" = 0 ] || refuse "needs root (chroots, mounts, packages); run it as root or leave the machine tests to CI"
command -v apt-get >/dev/null || refuse "needs a Debian machine with apt-get"
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9   # two test runs at once build once

stamp() { { declare -f "$1"; shift; cat "$@"; } | sha256sum | cut -c1-16; }   # stamp FUNCTION FILE…: a recipe's name
is_ready() { [ -e "$cache/$1/.ready-$2" ]; }   # is_ready TREE STAMP
free_mounts() {   # a tree must never be removed while something of the machine is mounted in it
  findmnt -rno TARGET | { grep -F "$1/" || true; } | sort -r | xargs -r umount -l
}
start() { free_mounts "$cache/$1"; rm -rf --one-file-system "${cache:?}/$1" "$cache/$1.new"; mkdir -p "$cache/$1.new"; }
finish() { touch "$cache/$1.new/.ready-$2"; mv "$cache/$1.new" "$cache/$1"; say "$1 is ready"; }

debian_mirror() {   # of this machine's own configuration: the archive that serves Debian's main component
  apt-get indextargets --format '$(REPO_URI) $(LABEL) $(COMPONENT)' 'Identifier: Packages' |
    awk '$2 == "Debian" && $3 == "main" { print $1; exit }'
}

packages() {
  local need=() name
  for name in mmdebstrap qemu-system-x86 busybox-static cpio kmod make gcc libc6-dev linux-headers-amd64 \
              linux-source-6.1 systemd systemd-container ca-certificates; do
    [ "$(dpkg-query -Wf '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || need+=("$name")
  done
  [ ${#need[@]} -eq 0 ] && return
  apt-get update -q >/dev/null
  apt-get install -y -q --no-install-recommends "${need[@]}" >"$cache/apt.log" 2>&1 ||
    { tail -5 "$cache/apt.log" >&2; refuse "apt-get could not install: ${need[*]}"; }
  say "installed ${need[*]}"
}

camera() {   # Debian 13 with libcamera's Python binding and virtual pipeline, and picamera2 from PyPI
  local id mirror root=$cache/camera.new
  id=$(stamp camera "$here/fake_dma_heap.c" "$here/virtual.yaml")
  is_ready camera "$id" && return
  start camera
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || refuse "apt knows no Debian archive; run apt-get update first"
  mmdebstrap --quiet --variant=minbase --mode=root --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --include=python3,python3-venv,python3-dev,python3-numpy,python3-libcamera,libcamera-ipa,libcap-dev,gcc,libc6-dev,linux-libc-dev,ca-certificates,systemd,systemd-sysv \
    trixie "$root" "deb $mirror trixie main"
  say "debian 13 tree"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  cp -L /etc/resolv.conf "$root/etc/"
  cp "$here/fake_dma_heap.c" "$root/opt/"
  chroot "$root" sh -ec '
    unset PIP_FIND_LINKS PIP_CONSTRAINT
    gcc -O2 -Wall -shared -fPIC -o /opt/fake_dma_heap.so /opt/fake_dma_heap.c -ldl
    python3 -m venv --system-site-packages /opt/venv
    /opt/venv/bin/pip install --quiet --no-cache-dir --disable-pip-version-check "picamera2==0.3.38" "opencv-python-headless>=4.10,<6"'
  mkdir -p "$root/usr/share/libcamera/pipeline/virtual" "$root/opt/project" "$root/opt/pictures"
  cp "$here/virtual.yaml" "$root/usr/share/libcamera/pipeline/virtual/virtual.yaml"
  finish camera "$id"
}

vm() {   # Debian's own kernel, its modules, gpio-sim built from Debian's kernel source, one initial RAM disk
  local id kernel work=$cache/vm.new tree module
  kernel=$(ls -d /usr/src/linux-headers-*-amd64 2>/dev/null | sort -V | tail -1 | sed 's#.*/linux-headers-##')
  [ -n "$kernel" ] || refuse "linux-headers-amd64 is not installed; run '$0 packages'"
  id=$(stamp vm "$here/vm_init.sh")-$kernel
  is_ready vm "$id" && return
  start vm
  cd "$work"
  chmod 755 .
  apt-get download -q "linux-image-$kernel" >/dev/null
  dpkg -x linux-image-"$kernel"_*.deb image && rm -f ./*.deb
  depmod -b image "$kernel"
  say "kernel $kernel unpacked"
  # Debian's configuration leaves gpio-sim out; its source package has it. Built here, nothing of it is kept in git.
  mkdir source gpio_sim
  tar xf /usr/src/linux-source-6.1.tar.xz -C source --strip-components=1 --occurrence=1 \
    linux-source-6.1/drivers/gpio/gpio-sim.c linux-source-6.1/drivers/gpio/gpiolib.h linux-source-6.1/kernel/irq/irq_sim.c
  cp source/drivers/gpio/gpio-sim.c source/drivers/gpio/gpiolib.h source/kernel/irq/irq_sim.c gpio_sim/
  # irq_to_desc() is not exported to modules; this call does the same from a number.
  sed -i 's/handle_simple_irq(irq_to_desc(irqnum))/generic_handle_irq_safe(irqnum)/' gpio_sim/irq_sim.c
  printf 'obj-m := gpio_sim_ext.o\ngpio_sim_ext-y := gpio-sim.o irq_sim.o\n' >gpio_sim/Makefile
  make -s -C "/usr/src/linux-headers-$kernel" M="$work/gpio_sim" modules >make.log 2>&1 || { tail -5 make.log >&2; refuse "gpio-sim does not build on $kernel"; }
  say "gpio-sim built"
  tree=ramdisk
  mkdir -p $tree/bin $tree/modules $tree/proc $tree/sys $tree/dev $tree/newroot
  cp /bin/busybox $tree/bin/
  cp "$here/vm_init.sh" $tree/init && chmod 755 $tree/init
  for module in 9p 9pnet_virtio virtio_pci configfs vivid; do
    modprobe -d image -S "$kernel" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
  done | awk '!seen[$0]++' | while read -r file; do
    cp "$file" $tree/modules/
    basename "$file" >>$tree/modules/order
  done
  cp gpio_sim/gpio_sim_ext.ko $tree/modules/
  echo gpio_sim_ext.ko >>$tree/modules/order
  (cd $tree && find . | cpio -o -H newc --quiet | gzip -1) >initrd.gz
  cp "image/boot/vmlinuz-$kernel" vmlinuz
  rm -rf image source gpio_sim $tree
  finish vm "$id"
}

for stage in "${@:-all}"; do
  case $stage in
    packages | camera | vm) "$stage" ;;
    all) packages; camera; vm ;;
    *) refuse "unknown stage '$stage'; expected packages, camera, vm or all" ;;
  esac
done
say "done, in $cache"
