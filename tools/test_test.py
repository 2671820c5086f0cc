#!/usr/bin/env python3
"""What tools/test.py makes of nothing: suites that are misspelt, builds that are missing, builds without tests are failures."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parent / "test.py"


def main():
    p = subprocess.run([sys.executable, TOOL, "--only", "untis"], capture_output=True, text=True)
    assert p.returncode == 2 and "no suite" in p.stderr, p
    spec = importlib.util.spec_from_file_location("test_front", TOOL)
    front = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(front)
    with tempfile.TemporaryDirectory() as folder:
        front.ROOT = pathlib.Path(folder)
        front.LOGS = front.ROOT
        (front.ROOT / "build" / "empty").mkdir(parents=True)
        assert front.run_suite("x", "none", "unit", 1, False).failed == 1
        assert front.run_suite("x", "empty", "unit", 1, False).failed == 1
        (front.ROOT / "build" / "empty" / "CTestTestfile.cmake").write_text("")
        assert front.run_suite("x", "empty", "unit", 1, False).failed == 1
        (front.ROOT / "build" / "empty" / "CTestTestfile.cmake").write_text(
            'add_test(t "/bin/echo" "2 passed, 0 failed, 1 skipped")\nset_tests_properties(t PROPERTIES LABELS unit)\n')
        counts = front.run_suite("x", "empty", "unit", 1, False)
        assert (counts.passed, counts.failed, counts.skipped) == (2, 0, 1), vars(counts)
    print("5 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
