"""Compiles and counts propositional theories with other programs, for comparison.

    python peers.py PEER SETTING --theory THEORY.json --memory BYTES --seconds SECONDS

THEORY.json has the number of variables (numbered from 1), clauses in DIMACS's literals, "exactly
k of these" constraints, and two lists of probabilities, one a variable. The program loads the
peer and the theory and writes one line of JSON that says what it is. Then it reads commands:

    compile   compiles the theory anew and counts it once, and writes the seconds that took and
              how large the result is
    recount   counts what was compiled last under the two lists of probabilities in turn, and
              writes the seconds that one count takes, both weighted counts, and the number of
              models where the peer has it

Seconds are those on the processor, of the peer and the programs that it starts, so that what else
the machine does counts little. What takes less than 100 ms is repeated for so long. Clauses and
probabilities are in the memory, in the peer's own form where it has one, when the clock starts. What
takes more than the seconds ends the program: a compilation, the counts under one list, and each step
that is not timed.

Each peer is called as its own documentation has it, with what makes it faster at this work:
clauses from the bottom of the order upwards, so that intermediate results stay small; "exactly k"
as a table of partial sums, not as clauses; and for a library without weighted counts, a loop over
its nodes, which are listed before the clock starts.
"""

import argparse
import array
import contextlib
import importlib.metadata
import io
import json
import os
import resource
import sys
import threading
import time


def processor():
    """Seconds on the processor of this program and those it started that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def repeated(work, batch=0.1):
    """The last result of work, and the seconds that it took once, repeated for as long as a batch: some
    systems count a processor's time in ticks of 4 ms."""
    n = 1
    while True:
        begin = processor()
        for _ in range(n):
            result = work()
        seconds = processor() - begin
        if seconds >= batch:
            return result, seconds / n
        n = max(2 * n, int(n * min(1.2 * batch / max(seconds, 0.004), 10)))


def bottom_up(clauses):
    """Clauses whose topmost variable is deep first."""
    return sorted(clauses, key=lambda c: min(map(abs, c)), reverse=True)


def partial_sums(k, literals, ite, true, false):
    """Exactly k of the literals, from the last one up: row[j] says it of the rest where j are true."""
    row = [false] * k + [true, false]
    for i in range(len(literals) - 1, -1, -1):
        top = min(i, k)
        row = [ite(literals[i], row[j + 1], row[j]) for j in range(top + 1)] + [false]
    return row[0]


class PySDD:
    """libsdd's compiler of CNF for a vtree, or conjoining with its dynamic minimisation."""

    PACKAGES = ("PySDD",)
    SETTINGS = ("balanced", "right-linear", "vertical", "balanced, minimised", "right-linear, minimised")

    def __init__(self, setting, theory, folder):
        from pysdd.sdd import Fnf, SddManager, Vtree, WmcManager

        self.SddManager, self.Vtree, self.WmcManager = SddManager, Vtree, WmcManager
        kind, self.minimise = setting.split(",")[0], setting.endswith("minimised")
        self.kind = {"right-linear": "right"}.get(kind, kind)
        self.theory, self.fnf = theory, None
        if theory["clauses"] and not self.minimise:
            path = os.path.join(folder, "theory.cnf")
            with open(path, "w") as f:
                f.write(f"p cnf {theory['vars']} {len(theory['clauses'])}\n")
                f.writelines(" ".join(map(str, c)) + " 0\n" for c in theory["clauses"])
            with contextlib.redirect_stdout(io.StringIO()):
                self.fnf = Fnf.from_cnf_file(path.encode())
        self.clauses = bottom_up(theory["clauses"])
        # The weights of the literals -n … -1, 1 … n.
        self.weights = [array.array("d", [1 - x for x in reversed(p)] + p) for p in theory["weights"]]

    def compile(self):
        self.wmc = self.root = self.manager = None
        vtree = self.Vtree(var_count=self.theory["vars"], vtree_type=self.kind)
        m = self.SddManager.from_vtree(vtree)
        m.auto_gc_and_minimize_off()
        if self.minimise:
            m.auto_gc_and_minimize_on()
        root = m.true()
        if self.fnf is not None:
            root = m.fnf_to_sdd(self.fnf)
        elif self.clauses:
            root.ref()
            for c in self.clauses:
                clause = m.false()
                for literal in c:
                    clause = m.disjoin(clause, m.literal(literal))
                new = m.conjoin(root, clause)
                new.ref()
                root.deref()
                root = new
        for e in self.theory["exactly"]:
            root = m.conjoin(root, self.exactly(m, e["k"], e["of"]))
        self.manager, self.root = m, root
        self.wmc = self.WmcManager(root, log_mode=False)
        return self.count(0)

    def exactly(self, m, k, of):
        n = len(of)
        row = [m.true() if j == k else m.false() for j in range(k + 2)]
        for x in row:
            x.ref()
        for i in range(n - 1, -1, -1):
            yes, no = m.literal(of[i]), m.literal(-of[i])
            new = []
            for j in range(min(i, k) + 1):
                high = m.conjoin(yes, row[j + 1])
                high.ref()
                low = m.conjoin(no, row[j])
                low.ref()
                x = m.disjoin(high, low)
                x.ref()
                high.deref()
                low.deref()
                new.append(x)
            for x in row:
                x.deref()
            new.append(m.false())
            new[-1].ref()
            row = new
        return row[0]

    def count(self, which):
        self.wmc.set_literal_weights_from_array(self.weights[which])
        return self.wmc.propagate()

    def prepare(self):
        pass

    def size(self):
        return self.root.size()

    def models(self):
        # Its own count of models has 64 bits.
        return self.manager.global_model_count(self.root) if self.theory["vars"] < 64 else None


class DD:
    """Binary decision diagrams of dd, in Python or by CUDD, in the theory's own order or reordered."""

    PACKAGES = ("dd",)
    SETTINGS = ("CUDD", "CUDD, reordered", "Python", "Python, reordered")

    def __init__(self, setting, theory, folder):
        self.cudd, self.reorder = setting.startswith("CUDD"), setting.endswith("reordered")
        if self.cudd:
            import dd.cudd as library
        else:
            import dd.autoref as library
        self.library, self.theory = library, theory
        self.clauses = bottom_up(theory["clauses"])
        self.root = None

    def compile(self):
        self.nodes = self.root = self.bdd = None
        b = self.library.BDD()
        b.configure(reordering=self.reorder)
        names = [f"x{i}" for i in range(1, self.theory["vars"] + 1)]
        b.declare(*names)
        v = [None] + [b.var(name) for name in names]
        literals = {i: v[i] for i in range(1, len(v))} | {-i: ~v[i] for i in range(1, len(v))}
        root = b.true
        for c in self.clauses:
            clause = b.false
            for literal in sorted(c, key=abs, reverse=True):
                clause = clause | literals[literal]
            root = root & clause
        for e in self.theory["exactly"]:
            root = root & partial_sums(e["k"], [literals[i] for i in e["of"]], b.ite, b.true, b.false)
        b.configure(reordering=False)  # or it would go on while nodes are listed
        self.bdd, self.root = b, root
        # CUDD counts with floating-point numbers, which hold 2^1023.
        return b.count(root, self.theory["vars"]) if not self.cudd or self.theory["vars"] < 1000 else None

    def prepare(self):
        """Lists the nodes, children first: for each the variable, and its children with their signs."""
        ids, self.nodes = {}, []
        root = self.root
        ones = (self.bdd.true, self.bdd.false)

        def key(u):
            return int(~u if u.negated else u)

        stack = [root]
        while stack:
            u = stack[-1]
            if u in ones or key(u) in ids:
                stack.pop()
                continue
            u = ~u if u.negated else u
            low, high = u.low, u.high
            todo = [c for c in (low, high) if c not in ones and key(c) not in ids]
            if todo:
                stack.extend(todo)
                continue
            stack.pop()

            ids[key(u)] = 2 * len(self.nodes) + 2
            self.nodes.append((int(u.var[1:]) - 1, *self.place(high, ids, ones), *self.place(low, ids, ones)))
        self.top, _ = self.place(root, ids, ones)

    @staticmethod
    def place(u, ids, ones):
        """Where the probabilities of a node and of its complement are."""
        if u in ones:
            at = 0 if u == ones[0] else 1
        else:
            at = ids[int(~u if u.negated else u)] + u.negated
        return at, at ^ 1

    def count(self, which):
        # Complements have sums of their own, since 1 - w of a small w has lost its digits.
        p = self.theory["weights"][which]
        value = [1.0, 0.0]
        add = value.append
        for variable, high, high_not, low, low_not in self.nodes:
            x = p[variable]
            y = 1 - x
            add(x * value[high] + y * value[low])
            add(x * value[high_not] + y * value[low_not])
        return value[self.top]

    def size(self):
        return len(self.root)

    def models(self):
        n = self.theory["vars"]
        return self.bdd.count(self.root, n) if not self.cudd or n < 1000 else None


class ProbLog:
    """ProbLog's knowledge compilation: clauses to d-DNNF by dsharp, or a ground program to an SDD."""

    PACKAGES = ("problog", "PySDD")
    SETTINGS = ("d-DNNF", "SDD")

    def __init__(self, setting, theory, folder):
        from problog.cnf_formula import CNF
        from problog.ddnnf_formula import DDNNF
        from problog.evaluator import SemiringProbability
        from problog.formula import LogicFormula
        from problog.logic import Constant, Term
        from problog.sdd_formula import SDD

        class Probability(SemiringProbability):
            """Without the tolerance that takes probabilities below 1e-12 for zero."""

            def is_zero(self, value):
                return value == 0

        os.environ["TMPDIR"] = folder
        self.CNF, self.LogicFormula, self.Term, self.Constant = CNF, LogicFormula, Term, Constant
        self.target = {"d-DNNF": DDNNF, "SDD": SDD}[setting]
        self.theory, self.semiring = theory, Probability()
        n = theory["vars"]
        self.weights = [{i + 1: Constant(p[i]) for i in range(n)} for p in theory["weights"]]
        self.clauses = bottom_up(theory["clauses"])

    def compile(self):
        self.formula = None
        self.formula = self.target.create_from(self.by_clauses() if self.target.__name__ == "DDNNF" else self.by_program())
        # Atoms are numbered anew; those that the theory does not depend on are gone.
        n = self.theory["vars"]
        self.place = {i: node.identifier for i, node, kind in self.formula if kind == "atom" and node.identifier <= n}
        return self.count(0)

    def by_clauses(self):
        cnf = self.CNF()
        for _ in range(self.theory["vars"]):
            cnf.add_atom(None)
        cnf.set_weights(self.weights[0])
        for c in self.theory["clauses"]:
            cnf.add_clause(False, c)
        for e in self.theory["exactly"]:
            # sum[j]: at least j of the literals so far, defined both ways, so that each model has one extension.
            k, above = e["k"], {}
            for x in e["of"]:
                new = {}
                for j in range(1, min(len(above) + 1, k + 1) + 1):
                    cnf.add_atom(None)
                    s = cnf.atomcount
                    new[j] = s
                    same, less = above.get(j), above.get(j - 1) if j > 1 else True
                    # s = same or (x and less)
                    for clause in self.definition(s, same, x, less):
                        cnf.add_clause(False, clause)
                above = new
            if k > 0:
                cnf.add_clause(False, [above[k]])
            if k + 1 in above:
                cnf.add_clause(False, [-above[k + 1]])
        return cnf

    @staticmethod
    def definition(s, same, x, less):
        if same is not None:
            yield [-same, s]
        yield [-x, s] if less is True else [-x, -less, s]
        rest = [same] if same is not None else []
        yield [-s, x, *rest]
        if less is not True:
            yield [-s, less, *rest]

    def by_program(self):
        f = self.LogicFormula()
        atoms = {}
        for i in range(1, self.theory["vars"] + 1):
            atoms[i] = f.add_atom(i, self.weights[0][i], name=self.Term(f"x{i}"))
            atoms[-i] = f.negate(atoms[i])
        parts = [f.add_or([atoms[x] for x in c]) for c in self.clauses]
        for e in self.theory["exactly"]:
            true, false = 0, None

            def ite(x, high, low):
                return f.add_or([f.add_and([x, high]), f.add_and([f.negate(x), low])])

            parts.append(partial_sums(e["k"], [atoms[x] for x in e["of"]], ite, true, false))
        f.add_query(self.Term("theory"), f.add_and(parts))
        return f

    def count(self, which):
        p = self.weights[which]
        self.formula.set_weights({at: p[i] for at, i in self.place.items()})
        if self.target.__name__ == "DDNNF":
            return self.formula.get_evaluator(semiring=self.semiring).get_root_weight()
        return self.formula.evaluate(semiring=self.semiring)[self.Term("theory")]

    def prepare(self):
        pass

    def size(self):
        return len(self.formula)

    def models(self):
        return None


PEERS = {"pysdd": PySDD, "dd": DD, "problog": ProbLog}


def main(answers):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("setting")
    parser.add_argument("--theory", required=True)
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (args.memory, args.memory))

    def say(message):
        print(json.dumps(message, allow_nan=False), file=answers, flush=True)

    with open(args.theory, encoding="utf-8") as f:
        theory = json.load(f)
    peer = PEERS[args.peer](args.setting, theory, os.path.dirname(os.path.abspath(args.theory)))
    say({"versions": {name: importlib.metadata.version(name) for name in peer.PACKAGES}})

    def allow():
        # Programs that are started have the same limit, counted from their own start.
        most = int(time.process_time() + args.seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))

    for command in sys.stdin:
        allow()
        if command.strip() == "compile":
            _, seconds = repeated(peer.compile)
            say({"seconds": seconds, "size": peer.size()})
        else:
            peer.prepare()
            seconds = float("inf")
            for which in (0, 1):
                allow()
                _, s = repeated(lambda: peer.count(which))
                seconds = min(seconds, s)
            allow()
            models = peer.models()
            say({"seconds": seconds, "wmc": [peer.count(0), peer.count(1)], "models": None if models is None else repr(models)})


if __name__ == "__main__":
    # Libraries write to the standard output what they like; only lines of communication may.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # Both dd and ProbLog go down a theory by recursion, one level a variable.
    sys.setrecursionlimit(10_000_000)
    threading.stack_size(1 << 29)
    failed = []

    def body():
        try:
            main(out)
        except BaseException as err:
            failed.append(err)
            print(f"{type(err).__name__}: {err}", file=sys.stderr)

    t = threading.Thread(target=body)
    t.start()
    t.join()
    sys.stderr.flush()
    os._exit(1 if failed else 0)
