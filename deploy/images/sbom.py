#!/usr/bin/env python3
"""Prints the packages of an image as SPDX 2.3 (JSON): sbom.py NAME DPKG_STATUS

The creation time is that of SOURCE_DATE_EPOCH, so that equal images have equal documents.
"""

import json
import os
import re
import sys
import time


def packages(text):
    """{field: value} of each installed package of dpkg's status file."""
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^(\S+?): (.*)$", paragraph, re.M))
        if fields.get("Status", "").endswith(" installed"):
            yield fields


def entry(fields):
    name, version = fields["Package"], fields["Version"]
    reference = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
    return {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name,
            "versionInfo": version, "supplier": "Organization: " + fields["Maintainer"],
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": reference}]}


def document(name, text):
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))
    entries = sorted(map(entry, packages(text)), key=lambda one: one["name"])
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": name, "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{seconds}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                             "creators": ["Tool: fabricd-sbom"]},
            "packages": entries,
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                               "relatedSpdxElement": one["SPDXID"]} for one in entries]}


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        json.dump(document(sys.argv[1], file.read()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
