"""The kernel under Jupyter's own tests and clients."""

import os
import queue
import time
import unittest

import jupyter_kernel_test
import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

GO = bool(os.environ.get("MODELLOG_TEST_GO"))
SLOW = "\n".join(
    ["x%d = prob(0.5)" % i for i in range(220)]
    + [
        "wmc(true"
        + "".join(
            " &\n (x%d | !x%d | x%d)" % (i * 7919 % 220, i * 104729 % 219, (i * 1299709 + 5) % 218)
            for i in range(900)
        )
        + ")"
    ]
)


class Suite(jupyter_kernel_test.KernelTests):
    kernel_name = "modellog"
    language_name = "modellog"
    file_extension = ".logic"

    if GO:
        code_hello_world = '%%go\n%%\nfmt.Println("hello, world")'
        code_stderr = '%%go\n%%\nfmt.Fprintln(os.Stderr, "oops")'
    completion_samples = [
        {"text": "marg", "matches": {"marginals("}},
        {"text": "%mode", "matches": {"%model", "%models"}},
    ]
    complete_code_samples = ["a = prob(0.5)", "prob(0.5) -> prob(0.25)", "", "# nothing"]
    incomplete_code_samples = ["wmc(prob(0.5)", "prob(0.5) ->", "%%go\nfunc f() {"]
    invalid_code_samples = ["a b", "wmc)"]
    code_generate_error = "nothing_like_that -> true"
    code_execute_result = [
        {"code": "wmc(prob(0.25))", "result": "0.25"},
        {"code": "wmc(prob(0.5) & prob(0.5))", "result": "0.25"},
        {"code": "entails(prob(0.5), true)", "result": "true"},
    ]
    code_display_data = [
        {"code": "%plot report prob(0.5) -> prob(0.25)\nwmc(true)", "mime": "image/svg+xml"}
    ]
    code_history_pattern = "wmc(prob(0.25*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "wmc"


class Welcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "modellog"
    support_iopub_welcome = True


class Life(unittest.TestCase):
    def run_cell(self, kc, code):
        out = []
        reply = kc.execute_interactive(code, timeout=60, output_hook=out.append, allow_stdin=False)
        return reply["content"], out

    def subscribed(self, kc):
        """Waits until what this kernel publishes arrives. After a restart the client connects to
        the same addresses anew, and wait_for_ready takes a last message of the kernel before for
        one of the new one; what is published until then goes to nobody."""
        end = time.monotonic() + 60
        while True:
            asked = kc.kernel_info()
            until = time.monotonic() + 1
            while time.monotonic() < until:
                try:
                    m = kc.get_iopub_msg(timeout=0.2)
                except queue.Empty:
                    continue
                if m["parent_header"].get("msg_id") == asked:
                    return
            self.assertLess(time.monotonic(), end, "nothing that the kernel publishes arrives")

    def test_restarts(self):
        km, kc = start_new_kernel(kernel_name="modellog")
        try:
            for i in range(50):
                content, out = self.run_cell(kc, "a = prob(0.125)\nwmc(a)")
                self.assertEqual(content["status"], "ok", content)
                self.assertEqual(content["execution_count"], 1)
                results = [m for m in out if m["msg_type"] == "execute_result"]
                self.assertEqual(results[0]["content"]["data"]["text/plain"], "0.125")
                km.restart_kernel()
                kc.wait_for_ready(timeout=60)
                self.subscribed(kc)
            content, _ = self.run_cell(kc, "wmc(a)")
            self.assertEqual(content["status"], "error", "a name outlived a restart")
            if GO:
                content, out = self.run_cell(kc, "%%go\n!echo after the restarts")
                self.assertEqual(content["status"], "ok", content)
        finally:
            kc.stop_channels()
            km.shutdown_kernel()

    def test_interrupt(self):
        km, kc = start_new_kernel(kernel_name="modellog")
        try:
            codes = [SLOW]
            if GO:
                codes.append("%%go\n%%\ntime.Sleep(time.Hour)")
            for code in codes:
                id = kc.execute(code)
                while True:
                    m = kc.get_iopub_msg(timeout=10)
                    if m["msg_type"] == "execute_input":
                        break
                time.sleep(0.5)
                begin = time.monotonic()
                km.interrupt_kernel()
                while True:
                    reply = kc.get_shell_msg(timeout=10)
                    if reply["parent_header"]["msg_id"] == id:
                        break
                self.assertLess(time.monotonic() - begin, 3)
                self.assertEqual(reply["content"]["status"], "error")
                content, _ = self.run_cell(kc, "wmc(prob(0.5))")
                self.assertEqual(content["status"], "ok")
        finally:
            kc.stop_channels()
            km.shutdown_kernel()

    def test_shutdown_while_busy(self):
        km, kc = start_new_kernel(kernel_name="modellog")
        kc.execute("%%go\n!sleep 1000" if GO else SLOW)
        time.sleep(1)
        begin = time.monotonic()
        km.shutdown_kernel()
        self.assertLess(time.monotonic() - begin, 5)
        kc.stop_channels()

    @unittest.skipUnless(GO, "no Go")
    def test_input(self):
        km, kc = start_new_kernel(kernel_name="modellog")
        try:
            out = []

            def ask(msg):
                kc.input("42")

            reply = kc.execute_interactive(
                "%%go\n%with_inputs\n!read x; echo $((x+1))",
                timeout=60, allow_stdin=True, stdin_hook=ask, output_hook=out.append,
            )
            self.assertEqual(reply["content"]["status"], "ok")
            text = "".join(m["content"]["text"] for m in out if m["msg_type"] == "stream")
            self.assertEqual(text, "43\n")
        finally:
            kc.stop_channels()
            km.shutdown_kernel()


class Notebook(unittest.TestCase):
    def notebook(self, *cells):
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        nb.metadata.kernelspec = {"name": "modellog", "display_name": "modellog"}
        return nb

    def test_notebook(self):
        cells = ["a = prob(0.25)\nb = prob(0.5)", "a -> b", "%plot report a -> b"]
        if GO:
            cells.append('%%go\n%%\nfmt.Println("hello from Go")')
        nb = self.notebook(*cells)
        NotebookClient(nb, timeout=120).execute()
        self.assertEqual([c.execution_count for c in nb.cells], list(range(1, len(cells) + 1)))
        self.assertEqual(nb.cells[0].outputs, [])
        self.assertIn("0.875", nb.cells[1].outputs[0].data["text/plain"])
        self.assertIn("<svg", nb.cells[2].outputs[0].data["image/svg+xml"])
        if GO:
            self.assertEqual(nb.cells[3].outputs[0].text, "hello from Go\n")
        nbformat.validate(nb)

    def test_error(self):
        nb = self.notebook("dog = prob(0.5)\ndgo")
        with self.assertRaises(CellExecutionError) as e:
            NotebookClient(nb, timeout=120).execute()
        self.assertIn('did you mean "dog"', str(e.exception))
        self.assertIn("^^^", str(e.exception))


if __name__ == "__main__":
    unittest.main()
