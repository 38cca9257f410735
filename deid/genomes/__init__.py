"""Genomic records: release of sequences and genotypes, and the attacks that a release must stand."""

from deid.genomes.binning import bin_genotypes
from deid.genomes.dnala import GeneralizedSequences, generalize_sequences
from deid.genomes.membership import MembershipTest, membership_test
from deid.genomes.sequences import Sequences, read_fasta, write_fasta
