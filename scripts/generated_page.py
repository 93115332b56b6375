"""A page of docs/ that is made of what the program lists.

Called with [--check] PROGRAM: writes the page, or says whether it is current.
"""

import json
import subprocess
import sys


def main(path, verb, page):
    """`page` makes the text of what `kintsugi VERB --json` lists; ./dev VERB-page is who calls this."""
    check = sys.argv[1:2] == ["--check"]
    (program,) = sys.argv[1 + check :]
    done = subprocess.run([program, verb, "--json"], check=True, capture_output=True, text=True)
    text = page(json.loads(done.stdout))
    if not check:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit(f"{path} is not what `kintsugi {verb}` says; ./dev {verb}-page writes it")
