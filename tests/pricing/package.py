"""The Debian package: it is built, unpacks, its program runs, and its unit leaves an attacker little."""
import pathlib
import shutil
import subprocess
import tempfile

from gateway import ROOT, Skip, same

EXPOSURE_MAX = 2.0  # of systemd's scale from 0 to 10
# What only a build with sanitizers needs: they, and libraries that a release leaves out because nothing calls them.
SANITIZED = {"libasan8", "libubsan1", "libgmp10", "librocksdb7.8", "libzstd1"}


def name_of(opt):
    return pathlib.Path(opt.bin).name


def folder_of(opt):
    return name_of(opt).removeprefix("candela-")


def test_deb(opt, _):
    if shutil.which("dpkg-shlibdeps") is None:
        raise Skip("no dpkg-dev here")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([ROOT / "packaging/deb.sh", opt.bin, folder], capture_output=True, text=True)
        same(done.returncode, 0, done.stderr)
        file = done.stdout.strip()
        root = pathlib.Path(folder) / "unpacked"
        subprocess.run(["dpkg", "-x", file, root], check=True)
        done = subprocess.run([root / "usr/bin" / name_of(opt), "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and name_of(opt) in done.stdout, done
        same((root / f"etc/candela/{folder_of(opt)}.env").stat().st_mode & 0o777, 0o600)
        fields = subprocess.run(["dpkg-deb", "-f", file], capture_output=True, text=True, check=True).stdout
        assert "libuv1" in fields and "libssl3" in fields, fields
        image = (ROOT / "packaging" / folder_of(opt) / "Containerfile").read_text().split()
        depends = fields.split("Depends: ")[1].splitlines()[0].split(", ")
        needed = {d.split()[0] for d in depends}
        missing = needed - {"libc6"} - (SANITIZED if "libasan8" in needed else set()) - set(image)
        same(missing, set(), "libraries the image lacks")


def test_unit(opt, _):
    if shutil.which("systemd-analyze") is None:
        raise Skip("no systemd-analyze here")
    units = sorted((ROOT / "packaging" / folder_of(opt)).glob("*.service"))
    assert units
    for unit in units:
        done = subprocess.run(["systemd-analyze", "security", "--offline=yes", str(unit)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        exposure = float(done.stdout.split("service: ")[1].split()[0])
        assert exposure <= EXPOSURE_MAX, (unit, exposure)


TESTS = [test_deb, test_unit]
