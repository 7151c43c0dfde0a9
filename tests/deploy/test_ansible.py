#!/usr/bin/env python3
"""ansible-lint accepts the example role, the role copies the packages that it names, and the
programs accept the settings that it writes."""

import os

from deploytest import DEPLOY, DeployTest, main

FOLDER = DEPLOY / "ansible"
PLAY = """---
- name: Use parts of the role on this machine
  hosts: localhost
  gather_facts: false
  vars:
    fabricd_settings: {{mesh: "on", profile: roce-pfc-dcqcn}}
    fabricd_agent_settings: {{interval: 2s}}
    fabricd_controller: control-1:9418
    fabricd_join: false
  tasks:
    - name: Write the settings
      ansible.builtin.template:
        src: "{role}/templates/{{{{ item }}}}.j2"
        dest: "{folder}/{{{{ item }}}}"
        mode: "0644"
      loop: [fabricd.yaml, agent.yaml]
    - name: Find the packages
      ansible.builtin.debug:
        msg: "found {{{{ item }}}}"
      vars:
        fabricd_names: [fabricd, fabricctl]
        fabricd_packages: {folder}/packages
      loop: {loop}
"""


class TestAnsible(DeployTest):
    def run_tool(self, name, *words):
        folder = self.folder()
        environment = dict(os.environ, HOME=str(folder), ANSIBLE_LOCAL_TEMP=str(folder),
                           ANSIBLE_REMOTE_TEMP=str(folder), ANSIBLE_NOCOLOR="1")
        return self.run_well(self.tool(name), *words, cwd=FOLDER, env=environment)

    def test_lint(self):
        self.run_tool("ansible-lint", "--offline", "site.yml")

    def test_syntax(self):
        self.run_tool("ansible-playbook", "--syntax-check", "-i", "inventory.yml", "site.yml")

    def test_programs_accept_the_settings_and_the_packages_are_found(self):
        folder = self.folder()
        role = FOLDER / "roles/fabricd"
        (folder / "packages").mkdir()
        for name in ("fabricd_0.1.0_amd64.deb", "fabricctl_0.1.0_amd64.deb",
                     "fabric-agent_0.1.0_amd64.deb"):
            (folder / "packages" / name).touch()
        loop = next(line for line in (role / "tasks/packages.yml").read_text().splitlines()
                    if line.startswith("  loop: \"{{ query")).split(": ", 1)[1]
        play = folder / "play.yml"
        play.write_text(PLAY.format(role=role, folder=folder, loop=loop))
        printed = self.run_tool("ansible-playbook", "-c", "local", "-i", "localhost,", play)
        self.assertIn("found " + str(folder / "packages/fabricd_0.1.0_amd64.deb"), printed)
        self.assertIn("found " + str(folder / "packages/fabricctl_0.1.0_amd64.deb"), printed)
        self.assertNotIn("found " + str(folder / "packages/fabric-agent"), printed)
        settings = self.settings_of("fabricd", f"--config={folder}/fabricd.yaml", "--state=f.db")
        self.assertEqual((settings["mesh"], settings["profile"]), ("on", "roce-pfc-dcqcn"))
        self.assertNotIn("join-ca", settings)
        settings = self.settings_of("fabric-agent", "run", f"--config={folder}/agent.yaml")
        self.assertEqual((settings["node"], settings["interval"]), ("localhost", "2s"))
        self.assertEqual(settings["tls-cert"], "/etc/fabricd/tls/cert.pem")

        self.run_tool("ansible-playbook", "-c", "local", "-i", "localhost,", "-e",
                      "fabricd_join=true", play)
        settings = self.settings_of("fabricd", f"--config={folder}/fabricd.yaml", "--state=f.db")
        self.assertEqual(settings["join-ca-key"], "/etc/fabricd/tls/ca-key.pem")
        settings = self.settings_of("fabric-agent", "run", f"--config={folder}/agent.yaml")
        self.assertEqual(settings["join-token"], "/etc/fabricd/join-token")
        self.assertEqual(settings["join-dir"], "/var/lib/fabric-agent")


if __name__ == "__main__":
    main()
