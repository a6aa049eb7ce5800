#include "model/memory/axioms/relation.h"

relation_t rel_none(int n)
{
	relation_t none;

	none.n = n;
	for (int i = 0; i < n; i++)
		none.row[i] = 0;
	return none;
}

relation_t rel_identity(int n, set_t set)
{
	relation_t identity;

	identity.n = n;
	for (int i = 0; i < n; i++)
		identity.row[i] = set & set_of(i);
	return identity;
}

relation_t rel_product(int n, set_t from, set_t to)
{
	relation_t product;

	product.n = n;
	for (int i = 0; i < n; i++)
		product.row[i] = set_has(from, i) ? to : 0;
	return product;
}

relation_t rel_union(relation_t a, relation_t b)
{
	for (int i = 0; i < a.n; i++)
		a.row[i] |= b.row[i];
	return a;
}

relation_t rel_meet(relation_t a, relation_t b)
{
	for (int i = 0; i < a.n; i++)
		a.row[i] &= b.row[i];
	return a;
}

relation_t rel_minus(relation_t a, relation_t b)
{
	for (int i = 0; i < a.n; i++)
		a.row[i] &= ~b.row[i];
	return a;
}

relation_t rel_then(relation_t a, relation_t b)
{
	for (int i = 0; i < a.n; i++) {
		set_t reached = 0;
		for (set_t left = a.row[i]; left; left &= left - 1)
			reached |= b.row[set_first(left)];
		a.row[i] = reached;
	}
	return a;
}

relation_t rel_inverse(relation_t a)
{
	relation_t inverse = rel_none(a.n);

	for (int i = 0; i < a.n; i++) {
		for (set_t left = a.row[i]; left; left &= left - 1)
			relate(&inverse, set_first(left), i);
	}
	return inverse;
}

relation_t rel_maybe(relation_t a)
{
	for (int i = 0; i < a.n; i++)
		a.row[i] |= set_of(i);
	return a;
}

relation_t rel_closure(relation_t a)
{
	for (int via = 0; via < a.n; via++) {
		for (int i = 0; i < a.n; i++) {
			if (set_has(a.row[i], via))
				a.row[i] |= a.row[via];
		}
	}
	return a;
}

relation_t rel_within(set_t from, relation_t a, set_t to)
{
	for (int i = 0; i < a.n; i++)
		a.row[i] = set_has(from, i) ? a.row[i] & to : 0;
	return a;
}

bool rel_is_empty(relation_t a)
{
	set_t any = 0;

	for (int i = 0; i < a.n; i++)
		any |= a.row[i];
	return any == 0;
}

bool rel_is_irreflexive(relation_t a)
{
	for (int i = 0; i < a.n; i++) {
		if (set_has(a.row[i], i))
			return false;
	}
	return true;
}

bool rel_is_acyclic(relation_t a)
{
	return rel_is_irreflexive(rel_closure(a));
}
