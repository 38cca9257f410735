"""The command line, one file a group; the only code that prints. Names below are what its commands are written with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deid.base.lazy import lazily

if TYPE_CHECKING:
    from deid.base.keys import KeyOptions, WorkOptions, job_count
    from deid.base.options import (
        again,
        argument,
        column_names,
        named_value,
        option,
        place_of,
        said_over,
        size_of,
        store_of,
    )
    from deid.cli.common import EXIT_FAILED, EXIT_LEFT_OUT, Summary, growing, in_line, progress, tell
    from deid.cli.option_groups import (
        IN,
        IN_OR_STDIN,
        JOBS,
        OUT,
        SOURCE_VARIABLE,
        OutputOptions,
        TableOutputOptions,
        command,
    )
    from deid.cli.tables import print_csv, print_rows, print_sections, tell_made, working

__getattr__ = lazily(__name__)
