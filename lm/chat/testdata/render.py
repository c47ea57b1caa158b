"""Renders chat templates as transformers does, for the tests of package chat.

    python render.py MODULE > rendered.json

needs jinja2 (3.1.6 was used) and the folder of the Go module
github.com/ollama/ollama v0.17.4, whose template/index.json has the templates of
many models; `go list -m -f '{{.Dir}}' github.com/ollama/ollama` prints it. The
environment is that of transformers.utils.chat_template_utils, with the date fixed.
Of the module's templates the SHA-256 of what they render is kept, of our own the
text. A refusal is kept as {"refused": reason}.
"""

import datetime
import hashlib
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox


class Refused(Exception):
    pass


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def refuse(message):
        raise Refused(message)

    env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, sort_keys=True)
    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = datetime.datetime(2024, 7, 26).strftime
    return env


def render(source, messages):
    try:
        return environment().from_string(source).render(
            messages=messages, add_generation_prompt=True, bos_token="<BOS>", eos_token="<EOS>")
    except Refused as e:
        return {"refused": str(e)}
    except jinja2.exceptions.UndefinedError as e:
        return {"refused": "undefined"}


here = pathlib.Path(__file__).parent
templates = json.loads((here / "templates.json").read_text())
conversations = json.loads((here / "conversations.json").read_text())
index = json.loads((pathlib.Path(sys.argv[1]) / "template" / "index.json").read_text())


def digest(text):
    return text if isinstance(text, dict) else hashlib.sha256(text.encode()).hexdigest()


json.dump({
    "own": {name: [render(t, c) for c in conversations] for name, t in templates.items()},
    "module": [[digest(render(t["template"], c)) for c in conversations] for t in index],
}, sys.stdout, indent=1, ensure_ascii=False)
print()
