"""The types that users see: mypy, as strict as it can be, on a script such as they write."""

from pathlib import Path

from mypy import api

SCRIPT = Path(__file__).with_name("typed_user.py")


def test_a_users_script_passes_mypy(tmp_path):
    found, problems, code = api.run(
        [
            "--strict",
            "--config-file=",
            f"--cache-dir={tmp_path}",
            "--follow-imports=silent",
            str(SCRIPT),
        ]
    )
    assert code == 0, found + problems
