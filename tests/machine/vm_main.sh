# Runs in the test machine as its only job: simulated pins, then Python with the host's environment.
# Kernel command line: ausguck.run=<this file> ausguck.python=<python> ausguck.path=<PYTHONPATH> ausguck.script=<file>
word() { /run/busybox sed -n "s/.*ausguck\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run/tmp TMPDIR=/run/tmp LG_WD=/run/tmp LANG=C.UTF-8
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTHONPATH=$(word path)
chip=/sys/kernel/config/gpio-sim/pi
/run/busybox mkdir -p $chip/bank
echo 32 >$chip/bank/num_lines
echo 1 >$chip/live
cd /run/tmp
exec "$(word python)" "$(word script)"
