"""What the tagger looks at: regular expressions, affixes, context, dictionaries (groups r, a, c, d)."""

from deid.features.feature_set import GROUPS, PRESETS, Encoded, FeatureSet
