"""Tables of rows about persons, before anybody protects them.

scalars             one cell as a value
cell_text           one cell as a text that no other cell changes
hierarchy           values and what they generalize to
hierarchy_builders  hierarchies of ages, dates, codes, places
microdata           rows with the roles of their columns
column_types        what the cells of a column are: texts, numbers
table_files         tables from files and databases: CSV, Parquet, and
  workbook          sheets of Excel
  statistics_files  SAS, Stata, SPSS
  database_tables   SQLite, PostgreSQL
options             what a user says of where a table is
table_writing       tables into them
"""
