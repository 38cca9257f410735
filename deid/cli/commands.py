"""All commands by panel of the help page, and what finds them by name: a module is imported when its command is asked
for.
"""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Notes": {
        "scrub": ("scrub:scrub", "Replace the PHI in notes."),
        "tag": ("scrub:tag", "Annotate the PHI in notes."),
        "filter": ("filter:filter", "Replace the PHI in a stream of records."),
        "watch": ("filter:watch", "Replace the PHI in files as they come into a folder."),
        "explain": ("explain:explain", "Say why each span of a note was found."),
        "verify": ("verify:verify", "Check scrubbed notes against their originals."),
        "map": ("verify:map_spans", "Move spans from original to scrubbed offsets, or back."),
        "audit": ("audit:audit", "Bound what scrubbing missed by a sample that is read."),
        "generalize": ("generalize:generalize", "Replace sensitive terms by more general ones."),
        "convert": ("convert:convert", "Convert documents from one format to another."),
        "records": ("", "What stands where in hospital records (HL7, C-CDA)."),
        "records check": ("records:check", "Check a table of what stands where."),
        "records show": ("records:show", "Show what is done with the fields of a segment."),
    },
    "Train and measure": {
        "train": ("train:train", "Train a tagger on annotated documents."),
        "model": ("", "Audit and export models."),
        "model audit": ("train:audit", "List the rare strings that a model stores."),
        "model export": ("train:export", "Copy an audited model to be passed on."),
        "evaluate": ("evaluate:evaluate", "Score a system's annotations against gold annotations."),
        "compare": ("evaluate:compare", "Compare two systems on the same gold documents."),
        "calibrate": ("calibrate:calibrate", "Set the recall dial on your own gold."),
        "crossval": ("experiment:crossval", "Cross-validate a tagger."),
        "experiment": ("", "Experiments: many taggers, many releases."),
        "experiment features": ("experiment:features", "Cross-validate subsets of the feature groups."),
        "experiment sampling": ("experiment:sampling", "Measure window and random O-sampling."),
        "experiment learning-curve": ("experiment:learning_curve", "Measure what more notes would give."),
        "experiment learners": ("experiment:learners", "Compare learners."),
        "experiment hips": ("experiment:hips", "Hiding in plain sight: what surrogates cost, and hide."),
        "experiment dp": ("table_experiments:dp", "Compare methods of deid cube with the truth."),
        "experiment sequences": ("table_experiments:sequences", "Compare methods of deid sequences."),
        "experiment robustness": ("calibrate:robustness", "Measure recall on other writing."),
        "experiment linkage": ("linkage_experiments:linkage", "Link made-up mentions, and score the persons."),
        "experiment private-linkage": ("linkage_experiments:private_linkage", "Match keyed filters, and attack them."),
        "experiment conclusions": ("table_experiments:conclusions", "Compare what studies conclude."),
    },
    "Tables": {
        "extract": ("extract:extract", "Make a table of persons (or notes) from the PHI of notes."),
        "link": ("link:link", "Find which rows are of one person, and give each person an id."),
        "link explain": ("link:explain", "Say why two rows are one person, or two."),
        "link encode": ("private_linkage:encode", "Make keyed filters of rows, to be compared elsewhere."),
        "link match": ("private_linkage:match", "Find the pairs of filters that are of one person."),
        "write-back": ("extract:write_back", "Write a published table's values back into the notes."),
        "schema": ("schema:schema", "Propose which columns identify, and which are sensitive."),
        "anonymize": ("anonymize:anonymize", "Make a table that can be released with a stated protection."),
        "ru-map": ("anonymize:ru_map", "Map risk and utility of many releases of a table."),
        "privacy": ("privacy:privacy", "Tell which privacy models a published table meets."),
        "risk": ("risk:risk", "Measure the risk of re-identification and disclosure."),
        "release": ("release:release", "Release tables and notes of the same patients together."),
    },
    "Counts": {
        "budget": ("", "Privacy budgets: what differentially private releases may spend."),
        "budget init": ("budget:init", "Set up a budget."),
        "budget show": ("budget:show", "Show what a budget has, and what was spent."),
        "budget history": ("budget:history", "Print every charge."),
        "cube": ("cube:cube", "Release counts over columns, with differential privacy."),
        "slice": ("cube:slice", "Ask a released cube for a slice or a roll-up."),
        "query": ("query:query", "Ask a table one question, with differential privacy."),
        "sequences": ("sequences:sequences", "Release sequences, with differential privacy."),
        "prefixes": ("sequences:prefixes", "Ask a release of sequences."),
        "synthesize": ("synthesize:synthesize", "Draw made-up rows that have the counts of a release."),
        "fidelity": ("synthesize:fidelity", "Say with noise how far made-up rows are from the true ones."),
    },
    "Special data": {
        "codes": ("", "Diagnosis codes: release them, attack a release."),
        "codes anonymize": ("codes:anonymize", "Make diagnosis codes that can be released."),
        "codes risk": ("codes:risk", "Attack diagnosis codes."),
        "trajectories": ("", "Longitudinal records: sequences of codes and ages."),
        "trajectories anonymize": ("trajectories:anonymize", "Release trajectories of which each occurs k times."),
        "genomes": ("", "Genomic records: release them, attack a release."),
        "genomes anonymize": ("genomes:anonymize", "Release genomic records so that none stands alone."),
        "genomes verify": ("genomes:verify", "Verify released genomic records."),
        "genomes attack": ("", "What an attacker could do with a release."),
        "genomes attack membership": ("genomes:membership", "Tell who is in a mixture."),
        "genomes attack linkage": ("genomes:linkage", "Count the persons that a DNA record can be."),
    },
    "Administration": {
        "policy": ("", "Policies: which operator replaces which category."),
        "policy check": ("policy:check", "Check that a policy holds together."),
        "policy show": ("policy:show", "Show what a policy does, or which there are."),
        "vault": ("", "The vault: what was replaced by what, for the entitled."),
        "vault init": ("vault:init", "Create a vault."),
        "vault reidentify": ("vault:reidentify", "Tell what surrogates stand for."),
        "vault rotate": ("vault:rotate", "Encrypt the whole vault under another key."),
        "vault audit": ("vault:audit", "Check every entry, and show the audit trail."),
        "forget": ("forget:forget", "Remove one person from vaults and views."),
        "manifest": ("", "Manifests: what a run did, signed, and how to check it."),
        "manifest key": ("manifest:key", "Show the key that signs manifests."),
        "manifest verify": ("manifest:verify", "Check an output against its manifests."),
        "manifest page": ("manifest:page", "Join all manifests of an output on one page."),
        "doctor": ("doctor:doctor", "Check the installation, and say what to do."),
    },
}
"""Panel -> command -> function that runs it, and its line on the help page. Without a function it is a group; a group
with one runs it where no command of its own is named."""


class Commands(TyperGroup):
    """The commands whose names begin with a prefix; loads the one that is asked for."""

    def __init__(self, *, prefix: str = "", **settings: Any) -> None:
        shown: dict[str, Any] = {}
        self._targets: dict[str, str] = {}
        for panel, rows in COMMANDS.items():
            for name, (target, line) in rows.items():
                last = name.removeprefix(prefix)
                if not name.startswith(prefix) or " " in last:
                    continue
                own: dict[str, Any] = {"name": last, "help": line, "rich_help_panel": None if prefix else panel}
                own |= {key: settings[key] for key in ("rich_markup_mode", "context_settings")}
                if target:
                    shown[last], self._targets[last] = TyperCommand(**own), target
                if not target or any(other.startswith(f"{name} ") for other in rows):
                    shown[last] = Commands(prefix=f"{name} ", no_args_is_help=True, **own)
        super().__init__(**{**settings, "commands": shown})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help page."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return name, command and arguments of what is asked for; the help page of all needs no more than lines."""
        name, found, rest = super().resolve_command(ctx, args)
        if name in self._targets and not (isinstance(found, Commands) and rest and rest[0] in found.commands):
            found = load(name, self._targets[name], self.context_settings)
        return name, found, rest


def load(name: str, target: str, settings: Any = None) -> Any:
    """Import a command: ``module:function`` of this room, under its own name."""
    module, _, function = target.partition(":")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    run = getattr(importlib.import_module(f"deid.cli.{module}"), function)
    told = "\n\n".join(" ".join(part.split()) for part in (run.__doc__ or "").split("\n\n"))
    app.command(name, help=told, context_settings=settings)(run)
    return typer.main.get_command(app)
