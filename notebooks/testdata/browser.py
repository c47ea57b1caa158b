"""Uses the notebooks in JupyterLab, in a real browser, as a reader does.

    python browser.py NOTEBOOKS SCREENSHOTS

NOTEBOOKS is a folder of notebooks to work in, SCREENSHOTS one for pictures of what is
seen. Nothing here waits for a time: each step waits for what it is to bring about.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "jupyter"))
import environment

FOLDER, SHOTS = Path(sys.argv[1]), Path(sys.argv[2])
FLAGS = ("--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync").split()
TOKEN = "notebooks"
SECOND = 1000  # what the browser counts in
LONG = 240 * SECOND  # for what a slow machine does; nothing takes this on a good one
MARK = "MODELLOG_TEST_RUN=" + os.urandom(8).hex()

# The widget of the open notebook, for its states; what a reader does goes through
# keys and clicks.
PANEL = "window.jupyterapp.shell.currentWidget"


def step(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def marked():
    """The living processes that come from this test."""
    found = []
    for d in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (d / "environ").read_bytes() and (line := (d / "cmdline").read_bytes()):
                found.append(d.name + " " + line.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass
    return found


def until(what, condition, seconds):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s: {what}")
        time.sleep(0.02)
    return value


class Lab:
    """A JupyterLab with settings of its own."""

    def __init__(self, state):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        name, _, value = MARK.partition("=")
        self.env = dict(os.environ, **{name: value}, JUPYTER_CONFIG_DIR=f"{state}/config",
                        JUPYTER_DATA_DIR=f"{state}/data", JUPYTER_RUNTIME_DIR=f"{state}/runtime")
        environment.use(self.env)
        settings = Path(state, "config", "lab", "user-settings", "@jupyterlab")
        for file, value in {
            # No questions about news, which are on another machine.
            "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
            # All cells are in the page, not only those that can be seen.
            "notebook-extension/tracker": {"windowingMode": "none"},
        }.items():
            path = settings / (file + ".jupyterlab-settings")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))
        bin_ = Path(sys.prefix, "bin")
        trust = subprocess.run([bin_ / "jupyter", "trust", *sorted(FOLDER.glob("*.ipynb"))], env=self.env, capture_output=True, text=True)
        assert trust.returncode == 0, trust.stderr
        self.log = open(Path(state, "lab.log"), "w+")
        self.process = subprocess.Popen(
            [bin_ / "jupyter", "lab", "--no-browser", "--allow-root", f"--port={self.port}", "--ServerApp.port_retries=0",
             f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True"],
            cwd=FOLDER, env=self.env, stdout=self.log, stderr=subprocess.STDOUT)
        until("JupyterLab does not start", self.answers, 120)

    def answers(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError("JupyterLab ended:\n" + self.log.read())
        try:
            return self.api("status")
        except OSError:
            return None

    def api(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/{path}", headers={"Authorization": f"token {TOKEN}"})
        with urllib.request.urlopen(request, timeout=10) as r:
            return json.load(r)

    def url(self, notebook):
        return f"http://127.0.0.1:{self.port}/lab/tree/{notebook}?token={TOKEN}"

    def stop(self):
        """Ends it as Ctrl-C and "y" do."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Notebook:
    """A notebook that is open in a page."""

    def __init__(self, page, lab, name):
        self.page, self.name = page, name
        page.goto(lab.url(name))
        page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=LONG)
        self.idle()

    def idle(self):
        """Waits until the kernel is, and no cell waits for it."""
        self.page.wait_for_function(f"""() => {{
            const panel = {PANEL};
            return panel?.sessionContext?.session?.kernel?.status === 'idle' &&
                panel.content.widgets.every(c => c.model.type !== 'code' || c.model.executionState === 'idle');
        }}""", timeout=LONG)

    def status(self):
        return self.page.evaluate(f"() => {PANEL}.sessionContext.session.kernel.status")

    def counts(self):
        """Execution counts of the code cells."""
        return self.page.evaluate(f"() => {PANEL}.content.widgets.filter(c => c.model.type === 'code').map(c => c.model.executionCount)")

    def menu(self, menu, entry):
        self.page.locator(".lm-MenuBar-item", has_text=re.compile(f"^{menu}$")).click()
        self.page.locator(".lm-Menu-item", has_text=re.compile(entry)).click()

    def last(self):
        return self.page.locator(".jp-Notebook .jp-CodeCell").last

    def cell(self, source):
        """Makes a new cell at the end and types into it."""
        n = self.page.locator(".jp-Notebook .jp-Cell").count()
        self.page.evaluate(f"() => {{ const n = {PANEL}.content; n.activeCellIndex = n.widgets.length - 1; n.mode = 'command'; n.node.focus(); }}")
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("b")
        expect(self.page.locator(".jp-Notebook .jp-Cell")).to_have_count(n + 1)
        self.page.keyboard.press("Enter")
        expect(self.last().locator(".cm-content")).to_be_focused()
        # Not typed key by key, so that no bracket is closed by itself.
        self.page.keyboard.insert_text(source)
        return self.last()

    def run(self):
        """Runs the cell that is edited, and stays there."""
        before = max([c or 0 for c in self.counts()])
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(f"b => {PANEL}.content.activeCell.model.executionCount > b", arg=before, timeout=LONG)
        self.idle()
        return self.last().locator(".jp-OutputArea-output")

    def shot(self, name, locator=None):
        if locator is not None:
            locator.scroll_into_view_if_needed()
        self.page.screenshot(path=SHOTS / f"{name}.png")

    def figures(self):
        """The sizes of the figures, as they are drawn."""
        return self.page.evaluate("""async () => {
            const all = [...document.querySelectorAll('.jp-RenderedSVG img, .jp-RenderedSVG svg, .jp-OutputArea-output img')];
            const distinct = [...new Set(all)];
            await Promise.all(distinct.map(e => e.decode ? e.decode() : null));
            return distinct.map(e => {
                const r = e.getBoundingClientRect();
                return {width: r.width, height: r.height, natural: e.naturalWidth ?? r.width, fits: r.right <= e.closest('.jp-OutputArea-output').getBoundingClientRect().right + 1};
            });
        }""")


def shipped(name):
    """How many figures and code cells a notebook has."""
    nb = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    code = [c for c in nb["cells"] if c["cell_type"] == "code"]
    figures = sum("image/svg+xml" in o.get("data", {}) for c in code for o in c["outputs"])
    failing = sum("raises-exception" in c["metadata"].get("tags", []) for c in code)
    return figures, len(code), failing


def check_figures(nb, wanted):
    found = nb.figures()
    assert len(found) == wanted, f"{len(found)} of {wanted} figures are drawn"
    for f in found:
        assert f["width"] >= 300 and f["height"] >= 80 and f["natural"] > 0 and f["fits"], f"a figure is drawn as {f}"


def unreadable(page):
    """Texts in outputs whose contrast with what is behind them is below 4.5, which WCAG asks for."""
    return page.evaluate("""() => {
        const parse = s => { const m = s.match(/[\\d.]+/g).map(Number); return {rgb: m.slice(0, 3), a: m[3] ?? 1}; };
        const over = (top, under) => top.rgb.map((v, i) => v * top.a + under[i] * (1 - top.a));
        const light = rgb => { const [r, g, b] = rgb.map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const background = e => { const stack = []; for (; e; e = e.parentElement) stack.push(parse(getComputedStyle(e).backgroundColor));
            return stack.reverse().reduce((under, top) => over(top, under), [255, 255, 255]); };
        const bad = [];
        for (const area of document.querySelectorAll('.jp-OutputArea-output')) {
            const walker = document.createTreeWalker(area, NodeFilter.SHOW_TEXT);
            for (let n = walker.nextNode(); n; n = walker.nextNode()) {
                const e = n.parentElement, r = e.getBoundingClientRect();
                if (!n.data.trim() || !r.width || e.closest('svg, style, script, mjx-container, .MathJax')) continue;
                const back = background(e), colour = parse(getComputedStyle(e).color);
                for (let p = e; p !== area; p = p.parentElement) colour.a *= Number(getComputedStyle(p).opacity);
                const [a, b] = [light(over(colour, back)), light(back)].sort((x, y) => y - x);
                const contrast = (a + 0.05) / (b + 0.05);
                if (contrast < 4.5) bad.push(`${contrast.toFixed(1)}: ${n.data.trim().slice(0, 60)}`);
            }
        }
        return [...new Set(bad)];
    }""")


def read_and_run(nb):
    """What is shipped is there, and comes out again when all cells run."""
    figures, cells, failing = shipped(nb.name)
    assert figures > 0, f"{nb.name} has no figures"
    check_figures(nb, figures)
    nb.shot("1-shipped")
    step(f"{nb.name} opens with its {figures} figures")

    nb.menu("Edit", "^Clear Outputs of All Cells")
    expect(nb.page.locator(".jp-OutputArea-output")).to_have_count(0)
    nb.menu("Run", "^Run All Cells$")
    nb.page.wait_for_function(f"""n => {{
        const counts = {PANEL}.content.widgets.filter(c => c.model.type === 'code').map(c => c.model.executionCount);
        return counts.length === n && counts.every(c => c !== null);
    }}""", arg=cells, timeout=LONG)
    nb.idle()
    errors = nb.page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr'], .jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']")
    assert errors.count() == failing, errors.all_inner_texts()
    assert nb.counts() == list(range(1, cells + 1)), nb.counts()
    check_figures(nb, figures)
    assert not unreadable(nb.page), unreadable(nb.page)
    nb.shot("2-figure", nb.page.locator(".jp-RenderedSVG").first)
    step(f"all {cells} cells ran")


def complete_and_inspect(nb):
    page = nb.page
    nb.cell('completed_one = M("A Golden Retriever is a", "dog")\ncompleted_two = prob(0.25)')
    nb.run()
    cell = nb.cell("complet")
    page.keyboard.press("Tab")
    popup = page.locator(".jp-Completer")
    expect(popup).to_be_visible()
    names = popup.locator(".jp-Completer-item")
    expect(names.filter(has_text="completed_one")).to_have_count(1)
    expect(names.filter(has_text="completed_two")).to_have_count(1)
    nb.shot("3-completion")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(popup).not_to_be_visible()
    expect(cell.locator(".cm-content")).to_have_text("completed_two")
    step("Tab completes a name")

    page.keyboard.press("Shift+Tab")
    tip = page.locator(".jp-Tooltip")
    expect(tip).to_contain_text("0.25")
    nb.shot("4-inspection")
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    expect(nb.run()).to_contain_text(["0.25"])
    step("Shift-Tab says what it is")


def interrupt(nb):
    """Stops a cell that reads thousands of new prefixes, and goes on."""
    page = nb.page
    nonce = os.urandom(4).hex()  # so that no reading is in the cache
    (FOLDER / "long.jsonl").write_text("".join(json.dumps({"x": f"{nonce} {i} is a", "a": "dog", "b": "cat"}) + "\n" for i in range(20000)))
    nb.cell("long_one(x, a, b) = M(x, a) -> M(x, b)")
    nb.run()
    cell = nb.cell("%run long_one long.jsonl")
    page.keyboard.press("Control+Enter")
    expect(cell.locator("progress")).to_be_visible(timeout=LONG)
    assert nb.status() == "busy"
    expect(page.locator(".jp-Notebook-ExecutionIndicator").first).to_have_attribute("data-status", "busy")
    nb.shot("5-progress", cell)
    began = time.monotonic()
    page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:interrupt-kernel'], .jp-NotebookPanel-toolbar [data-jp-item-name='interrupt'] *").first.click()
    nb.idle()
    took = time.monotonic() - began
    assert took < 3, f"it took {took:.1f} s to interrupt a cell"
    expect(cell.locator("progress")).to_have_count(0)
    expect(cell.locator(".jp-OutputArea-output").last).to_contain_text("interrupt")
    nb.shot("6-interrupted", cell)
    nb.cell("completed_two")
    expect(nb.run()).to_contain_text(["0.25"])
    step(f"a long cell was interrupted in {took:.2f} s, and the names are still there")


def go_cell(nb):
    nb.cell('%%go\nimport "github.com/janpfeifer/gonb/gonbui"\n%%\ngonbui.DisplayHtml("<b class=from-go>bold</b>")\nfmt.Println(6 * 7)')
    output = nb.run()
    expect(nb.last().locator(".from-go, b:text('bold')")).to_be_visible()
    expect(output.filter(has_text="42")).to_have_count(1)
    nb.shot("7-go", nb.last())
    step("a Go cell shows HTML")


def restart(nb):
    page = nb.page
    nb.menu("Kernel", "^Restart Kernel…")
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    page.wait_for_function(f"() => {PANEL}.sessionContext.session.kernel.status !== 'idle'", timeout=LONG)
    nb.idle()
    cell = nb.cell("completed_two")
    page.keyboard.press("Control+Enter")
    expect(cell.locator(".jp-OutputArea-output")).to_contain_text('no event or formula is called "completed_two"')
    nb.idle()
    assert nb.page.evaluate(f"() => {PANEL}.content.activeCell.model.executionCount") == 1
    nb.shot("8-restarted", cell)
    step("a restart forgets the names")


def dark(nb):
    page = nb.page
    page.locator(".lm-MenuBar-item", has_text=re.compile("^Settings$")).click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Theme$")).hover()
    page.locator(".lm-Menu-item", has_text=re.compile("^JupyterLab Dark$")).click()
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false' && document.body.dataset.jpThemeName === 'JupyterLab Dark'")
    check_figures(nb, shipped(nb.name)[0])
    for i in range(page.locator(".jp-RenderedSVG").count()):
        nb.shot(f"9-dark-{i + 1}", page.locator(".jp-RenderedSVG").nth(i))
    bad = unreadable(page)
    assert not bad, "in the dark theme these are hard to read: " + "; ".join(bad)
    step("the dark theme is legible")


def the_others(context, lab):
    """All the others as they are shipped, in the dark theme that was set."""
    for path in sorted(FOLDER.glob("*.ipynb"))[1:]:
        figures, _, _ = shipped(path.name)
        page = context.new_page()
        nb = Notebook(page, lab, path.name)
        page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
        check_figures(nb, figures)
        bad = unreadable(page)
        assert not bad, f"in the dark theme these are hard to read in {path.name}: " + "; ".join(bad)
        for i in range(page.locator(".jp-RenderedSVG").count()):
            nb.shot(f"9-{path.stem}-{i + 1}", page.locator(".jp-RenderedSVG").nth(i))
        page.close()
        step(f"{path.name} shows its {figures} figures")


def main():
    with tempfile.TemporaryDirectory(prefix="modellog-browser-") as state, sync_playwright() as p:
        lab = Lab(state)
        step("JupyterLab runs")
        try:
            context = p.chromium.launch_persistent_context(
                f"{state}/chromium", executable_path=os.environ["MODELLOG_TEST_CHROMIUM"], args=FLAGS, headless=True,
                viewport={"width": 1200, "height": 1000})
            page = context.pages[0]
            page.set_default_timeout(60 * SECOND)
            expect.set_options(timeout=60 * SECOND)
            try:
                nb = Notebook(page, lab, "01-propositions.ipynb")
                read_and_run(nb)
                complete_and_inspect(nb)
                interrupt(nb)
                go_cell(nb)
                dark(nb)
                the_others(context, lab)
                restart(nb)
                assert len(marked()) >= 3, marked()  # the server, the kernel, GoNB
            except BaseException:
                page.screenshot(path=SHOTS / "failed.png")
                raise
            finally:
                context.close()
        finally:
            lab.stop()
        until("there are still: " + "; ".join(marked()), lambda: not marked(), 10)
        step("nothing is left of it")


BEGAN = time.monotonic()
if __name__ == "__main__":
    main()
