"""``python -m deid`` is the command `deid`."""

from deid.cli.main import main

if __name__ == "__main__":
    main()
