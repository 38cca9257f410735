"""What a user says of the features of a tagger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deid.base.options import option

if TYPE_CHECKING:
    from deid.features import FeatureSet


@dataclass(frozen=True)
class FeatureOptions:
    """The features of a tagger."""

    PANEL: ClassVar[str] = "Features"
    preset: str = option("default", "Features: hide (the dissertation's) or default.")
    features: str = option("racd", "Groups: r regular expressions, a affixes, c context, d dictionaries.")
    dictionaries: str = option("none", "Word lists for group d: a language (en), names with commas between, or none.")

    def chosen(self) -> FeatureSet:
        """Return the feature set that the options name."""
        from deid.features.feature_set import FeatureSet
        from deid.reading.dictionaries import available

        if self.dictionaries == "none":
            return FeatureSet(self.preset, self.features)
        lists = available(self.dictionaries) if len(self.dictionaries) == 2 else self.dictionaries.split(",")
        return FeatureSet(self.preset, self.features, lists)
