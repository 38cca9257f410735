"""Pipelines that the tests of all records share."""

from __future__ import annotations

import re

import pytest
from samples import KEY

from deid.document import Document, Span
from deid.phi import CATEGORIES
from deid.pipeline import Pipeline, build_pipeline
from deid.pipeline.core import Settings
from deid.pipeline.options import PipelineOptions
from deid.replacement.policy import Policy, load_policy


class Everything:
    """Finds each word of the free text."""

    name = "everything"
    categories = frozenset({"PATIENT", "DATE"})

    def find(self, document: Document) -> list[Span]:
        return [Span(m.start(), m.end(), "PATIENT") for m in re.finditer(r"\w+", document.text)]


def _of_everything(policy: Policy) -> Pipeline:
    return Pipeline(Everything(), policy, KEY, Settings())


@pytest.fixture(scope="session")
def surrogates() -> Pipeline:
    """Return the pipeline of the default policy."""
    return build_pipeline(KEY, PipelineOptions(policy="surrogate"))


@pytest.fixture(scope="session")
def hiding() -> Pipeline:
    """Return a pipeline that finds everything and hides everything."""
    return _of_everything(load_policy("redact"))


@pytest.fixture(scope="session")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Return a pipeline that finds everything and keeps everything."""
    path = tmp_path_factory.mktemp("policy") / "keep.toml"
    path.write_text('description = "Keeps all."\n[default]\noperator = "keep"\n')
    return _of_everything(load_policy(str(path), CATEGORIES))
