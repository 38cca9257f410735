"""The ground floor: what every room stands on and no room is about.

arrays      types of arrays
errors      what can go wrong, in one tree, with a hint each
options     what a user may say, as fields of a value
safe_names  which words a message may quote
compiled    the compiled module, where it was built
cache       tables made once, kept between runs
resources   where models/ and dictionaries/ lie
files       files written whole or not at all, mode 0600
keys        the key of a site
network     addresses, certificates, what speaks TLS
luhn        the check digit of many numbers
draws       draws by a seed and a name
pool        processes that work for this one
async_pool  the same, asked out of an event loop
store       SQLite and PostgreSQL, one face
reports     self-contained HTML pages
plots       figures
late        pandas, loaded when it is first used
"""
