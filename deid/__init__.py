"""De-identification of clinical reports."""

from deid.document import Document, Span

__all__ = ["Document", "Span", "__version__"]

__version__ = "0.1.0"
