#!/bin/busybox sh
# First process of the test machine: loads the modules, mounts the host's "/" read-only over 9p, and hands over to
# the script named on the kernel command line (ausguck.run=…). Powers off when it ends.
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sys /sys; $b mount -t devtmpfs dev /dev
while read -r module; do
  case $module in
    vivid.ko) $b insmod /modules/$module n_devs=1 node_types=0x1 input_types=0x0 no_error_inj=1 ;;
    *) $b insmod /modules/$module ;;
  esac || echo "VM: $module does not load"
done </modules/order
$b mount -t configfs none /sys/kernel/config
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288,cache=loose,ro rootfs /newroot || echo "VM: no root"
run=$($b sed -n 's/.*ausguck\.run=\([^ ]*\).*/\1/p' /proc/cmdline)
for folder in proc sys dev; do $b mount -o move /$folder /newroot/$folder; done
$b mount -t tmpfs tmpfs /newroot/run
$b mkdir -p /newroot/run/tmp /newroot/dev/shm
$b mount -t tmpfs tmpfs /newroot/dev/shm
$b cp /bin/busybox /newroot/run/busybox
exec $b switch_root /newroot /run/busybox sh -c "/run/busybox sh $run; echo VM-EXIT \$?; /run/busybox poweroff -f"
