"""``python -m labelgrove``."""

from labelgrove.cli import main

main()
