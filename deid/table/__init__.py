"""Tables of rows about persons, before anybody protects them.

scalars             one cell as a value
cell_text           one cell as a text that no other cell changes
hierarchy           values and what they generalize to
hierarchy_builders  hierarchies of ages, dates, codes, places
microdata           rows with the roles of their columns
table_files         CSV, Parquet, databases
"""
