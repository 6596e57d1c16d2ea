"""One page that holds a whole result: verdict, pictures, tables, and three demonstrations that run in it."""
