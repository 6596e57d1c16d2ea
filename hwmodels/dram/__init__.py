"""DRAM: the description of a memory system, its address map, its timing table and its refresh."""
