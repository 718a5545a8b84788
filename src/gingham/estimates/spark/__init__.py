"""Estimated joins in Spark: the types of a join aggregate, and the sketches of a relation's rows.

The counterparts for exact queries are `spark/bind_query.py` and `spark/rows_to_shards.py`.
"""
