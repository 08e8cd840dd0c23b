"""From standard input [what gsan-report prints for Prometheus, [PromQL expression, …]]; to standard output what metrics there are and
which are asked for, each with its labels, as the parsers of Prometheus' own client and of PromQL read them."""
import json
import sys

import promql_parser
from prometheus_client.parser import text_string_to_metric_families


def selectors(node):
    """The vector selectors of a parsed expression."""
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for name in ("expr", "lhs", "rhs", "args", "vector_selector"):
        inner = getattr(node, name, None)
        for child in inner if isinstance(inner, list) else [inner]:
            if child is not None and not isinstance(child, str):
                yield from selectors(child)


printed, expressions = json.load(sys.stdin)
there = {}
for family in text_string_to_metric_families(printed):
    for sample in family.samples:
        there.setdefault(sample.name, sorted(sample.labels))
asked = [[selector.name, [matcher.name for matcher in selector.matchers.matchers]]
         for expression in expressions for selector in selectors(promql_parser.parse(expression))]
json.dump({"there": there, "asked": asked}, sys.stdout)
