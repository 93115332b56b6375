"""The bill of materials of what ./dev dist and ./dev wheel make, as CycloneDX has it: the Debian packages that are linked
in, in the versions that are installed.

No time and no serial number is in it: the same packages give the same bytes.
"""

import json
import pathlib
import re
import subprocess
import urllib.parse

FIELDS = ("version", "architecture", "source", "source_version")
FORMAT = "${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}"


def installed(package):
    """What dpkg knows of a package, by FIELDS."""
    done = subprocess.run(["dpkg-query", "-W", "-f", FORMAT, package], check=True, capture_output=True, text=True)
    return dict(zip(FIELDS, done.stdout.split("\t"), strict=True))


def codename():
    """Of the Debian release, as in 'bookworm'."""
    return re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)[1]


def component(package):
    """A package. Who looks for its vulnerabilities does so by the name of its source."""
    found = installed(package)
    version = urllib.parse.quote(found["version"], safe="")
    reference = f"pkg:deb/debian/{package}@{version}?arch={found['architecture']}&distro={codename()}"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": package,
        "version": found["version"],
        "purl": reference,
        "properties": [
            {"name": "debian:source", "value": found["source"]},
            {"name": "debian:source-version", "value": found["source_version"]},
        ],
    }


def document(version, packages):
    """The text of the bill for a version of Kintsugi with these packages in it."""
    components = [component(package) for package in sorted(packages)]
    own = {
        "type": "application",
        "bom-ref": "kintsugi",
        "name": "kintsugi",
        "version": version,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": "kintsugi", "dependsOn": [each["bom-ref"] for each in components]}],
    }
    return json.dumps(bill, indent=1) + "\n"
