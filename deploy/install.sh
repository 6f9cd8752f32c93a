#!/usr/bin/env bash
# Makes an Ausguck of a Raspberry Pi: packages, a user, a folder, a service. Run it again to update.
#
#   sudo deploy/install.sh [--dry-run] [--port N] [--no-start]
#
# --dry-run prints each step and changes nothing; it needs neither root nor a Pi.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
prefix=/opt/ausguck
port=8080
dry=
start=yes

refuse() { printf 'install: %s\n' "$*" >&2; exit 2; }
say() { printf '\n%s\n' "$*"; }
run() {   # print a command, and do it unless dry
  printf '  + %s\n' "$*"
  [ -n "$dry" ] || "$@"
}
write() {   # write FILE: its contents come on standard input
  printf '  + write %s\n' "$1"
  if [ -n "$dry" ]; then cat >/dev/null; else install -D -m 644 /dev/stdin "$1"; fi
}

while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) dry=yes ;;
    --no-start) start= ;;
    --port) port=${2:-}; shift ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) refuse "unknown option '$1'; expected --dry-run, --port N or --no-start" ;;
  esac
  shift || refuse "--port needs a number"
done
case $port in '' | *[!0-9]*) refuse "expected a port number after --port, got '$port'" ;; esac
[ "$port" -ge 1024 ] && [ "$port" -le 65535 ] || refuse "expected a port from 1024 to 65535, got $port"

if [ -z "$dry" ]; then
  [ "$(id -u)" = 0 ] || refuse "needs root; run: sudo deploy/install.sh"
  command -v apt-get >/dev/null || refuse "needs Raspberry Pi OS or Debian (apt-get is missing)"
  grep -qs 'Raspberry Pi' /proc/device-tree/model || echo "install: this is no Raspberry Pi; going on without its camera and pins" >&2
fi

say "1. Packages of the system: camera, pins, numpy"
run apt-get update -q
# These must fit the system's libcamera and kernel, so apt brings them, and updates them together.
packages=(python3-venv python3-numpy python3-picamera2 python3-libcamera python3-lgpio iw avahi-daemon)
if [ -z "$dry" ] && ! apt-cache show python3-picamera2 >/dev/null 2>&1; then
  packages=(python3-venv python3-numpy iw avahi-daemon)   # Debian itself has no picamera2: a webcam it is, then
  echo "install: no picamera2 in this system's packages; a USB webcam will do" >&2
fi
run env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}"

say "2. A user of its own, who may use camera and pins and nothing else"
if [ -n "$dry" ] || ! id ausguck >/dev/null 2>&1; then
  run useradd --system --home-dir /var/lib/ausguck --shell /usr/sbin/nologin ausguck
fi
for group in video gpio; do   # the service asks for both, and does not start where one is missing
  run groupadd --system --force "$group"
  run usermod --append --groups "$group" ausguck
done

say "3. The program, in $prefix"
run install -d -m 755 "$prefix" "$prefix/app"
for part in scorer vision device models datasets deploy pyproject.toml README.md; do
  [ -e "$here/$part" ] || continue
  run rm -rf "$prefix/app/$part"
  run cp -R "$here/$part" "$prefix/app/$part"
done

say "4. Its Python environment: sees apt's packages, and must not replace their numpy"
run python3 -m venv --system-site-packages "$prefix/venv"
if [ -n "$dry" ]; then
  numpy='(the version that apt installed)'
else
  numpy=$(/usr/bin/python3 -c 'import numpy; print(numpy.__version__)')
  case $numpy in 1.1* | 1.20* | 1.21* | 1.22* | 1.23* | 1.24* | 1.25*)
    refuse "this system's numpy is $numpy; Ausguck needs 1.26 or newer: use a Raspberry Pi OS made from Debian 13" ;;
  esac
fi
# A second numpy beside picamera2's compiled parts ends in "numpy.dtype size changed": hold pip to the system's.
printf 'numpy==%s\n' "$numpy" | write "$prefix/constraints.txt"
run "$prefix/venv/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: \
  --constraint "$prefix/constraints.txt" --requirement "$prefix/app/deploy/requirements-pi.txt"
# Not pip: that would fetch build tools. Two lines do what an editable install does.
site=$(ls -d "$prefix"/venv/lib/python3*/site-packages 2>/dev/null | head -1 || true)
printf '%s\n' "$prefix/app" | write "${site:-$prefix/venv/lib/python3/site-packages}/ausguck.pth"
printf '#!%s/venv/bin/python\nfrom device.cli import main\nraise SystemExit(main())\n' "$prefix" | write "$prefix/venv/bin/ausguck"
run chmod 755 "$prefix/venv/bin/ausguck"
run "$prefix/venv/bin/python" -m compileall -q "$prefix/app"

say "5. Does everything fit together?"
run "$prefix/venv/bin/python" "$prefix/app/deploy/check_imports.py"

say "6. Wi-Fi without naps: a Pi that sleeps answers a phone late or never"
write /etc/NetworkManager/conf.d/ausguck-wifi.conf <<'CONF'
# Written by Ausguck's installer.
[connection]
wifi.powersave = 2
CONF
if [ -n "$dry" ] || [ -e /sys/class/net/wlan0 ]; then
  run iw dev wlan0 set power_save off || echo "install: power saving stays on until the next start" >&2
fi

say "7. The service"
sed "s/--port 8080/--port $port/" "$here/deploy/ausguck.service" | write /etc/systemd/system/ausguck.service
booted=$([ -n "$dry" ] || [ -d /run/systemd/system ] && echo yes || true)   # not while an SD card's image is made
if [ -n "$booted" ]; then run systemctl daemon-reload; fi
if [ -n "$start" ]; then
  run systemctl enable ausguck.service
  if [ -n "$booted" ]; then run systemctl restart ausguck.service; else echo "  (it starts with the next boot)"; fi
fi

say "8. Where it is"
if [ -n "$dry" ]; then
  echo "  (the address and the code for the phones come here)"
else
  for address in $(hostname -I 2>/dev/null); do
    case $address in *:*) ;; *) echo "  http://$address:$port/" ;; esac
  done
  echo "  http://$(hostname).local:$port/   (not every phone opens .local; the QR code on the page carries the number)"
  echo "  Print the card that /join shows and put it on the table. 'sudo -u ausguck $prefix/venv/bin/ausguck selftest' checks all parts."
fi
