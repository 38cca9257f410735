"""Set-valued records, such as diagnosis codes: releases with a stated protection, their cost, and attacks."""
