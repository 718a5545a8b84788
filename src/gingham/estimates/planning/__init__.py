"""Estimated joins without Spark: parse the SQL, plan shared sketches, turn sketches into answers.

Each module has a counterpart for exact queries:

    join_aggregate      a parsed query, as logical/query.py
    parse_joins         SQL text to a join aggregate, as sql/parse.py; join_scope resolves names,
                        join_measures reads what is summed
    bound_join          a query whose types Spark has checked, as plan/bound.py
    sketch_plan         the plan of all queries, as plan/forest.py
    share_sketches      bound queries to a plan, as optimizer/optimize.py
    weave_sketches      which windows share slices, as optimizer/weave
    drop_queries        the plan that is left when queries fail
    sketch_table        counters by slice and sketch
    estimate_query      counters to answers, as finals/answer.py
    explain_sketches    the plan as text, as inspect/text.py
"""
