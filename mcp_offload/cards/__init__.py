"""Cards: what builds produce, told in a line, with the parts that handles can name.

Facts are read from headers and tables of contents within limits of work and memory; nothing is
unpacked to disk, and damage becomes a note of the card. ``names`` alone is cheap to import, and says
of most files that they need none of the rest.
"""
