"""Words of the data go to nobody whom the user has not allowed, and never to where machines keep keys."""

import json
import os
import socket
from pathlib import Path

import pytest

import decloak
from decloak.errors import DecloakError
from decloak.relate.provider import Provider, ProviderSource
from decloak.relate.sending import allow_hosts, check_host_safe, is_host_allowed, open_connection
from loopback import serving

DATA = "asthma,insulin\ninsulin,metformin\nmetformin,asthma,secret\nsecret,insulin\n"
SETS = "anonymise: {method: sets, size: 2}\n"
ATTACK = "attack: [rba]\n"


@pytest.fixture
def server():
    """A service on this machine, which is as far away as any other: nobody has allowed it."""
    with serving(allowed=False) as server:
        yield server


@pytest.fixture
def host(server) -> str:
    return server.url.removeprefix("http://")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text(DATA)
    return tmp_path


def relate(server) -> str:
    return (
        f"{{measure: ngd, source: provider, service: mediawiki, url: '{server.url}/wiki/api.php', pages: 1000, "
        "rate: 1000, retries: 0}"
    )


def scenario(folder: Path, server, data: str = "data", more: str = SETS, attack: str = ATTACK) -> Path:
    text = f"scenario: s\ndata: {{file: {data}, format: basket}}\n{more}relate: {relate(server)}\n{attack}"
    (folder / "s.yaml").write_text(text)
    return folder / "s.yaml"


def refused(said, host: str, words: int = 4) -> bool:
    return (said.code, said.out) == (2, "") and said.err == (
        f"decloak: s.yaml: would send {words} words to {host}; --allow-send {host} allows it, "
        "`decloak run --dry-run` shows what they are\n"
    )


def run(call, *options: str):
    return call("run", "s.yaml", "--store", "s.db", *options)


def test_nothing_is_sent_unasked_and_nothing_is_left_behind(call, folder, server, host):
    scenario(folder, server)
    assert refused(run(call), host)
    assert server.asked == []
    assert not (folder / "s.db").exists()
    assert not (folder / "settings").exists()
    with pytest.raises(DecloakError, match=f"would send 4 words to {host}"):
        decloak.run("s.yaml", store="s.db")


def test_a_permission_lasts_for_one_run_and_is_kept_nowhere(call, folder, server, host):
    scenario(folder, server)
    assert run(call, "--allow-send", host).code == 0
    assert server.asked
    (folder / "s.db").unlink()
    server.asked.clear()
    assert refused(run(call), host)
    assert server.asked == []
    assert not (folder / "settings").exists()
    with serving(allowed=False) as other:
        scenario(folder, other)
        assert refused(run(call, "--allow-send", host), other.url.removeprefix("http://"))
        assert other.asked == []


def test_a_host_without_a_port_is_allowed_with_any(call, folder, server, host):
    scenario(folder, server)
    assert refused(run(call, "--allow-send", "localhost"), host)
    assert refused(run(call, "--allow-send", "127.0.0.1:1"), host)
    assert refused(run(call, "--allow-send", "27.0.0.1"), host)
    assert run(call, "--allow-send", "127.0.0.1").code == 0
    assert not is_host_allowed("example.org.evil.net", ["example.org"])
    assert is_host_allowed("Example.ORG:80", ["example.org"])


def test_what_the_store_has_is_not_sent_again_so_nobody_is_asked(call, folder, server, host):
    scenario(folder, server)
    assert run(call, "--allow-send", host).code == 0
    server.asked.clear()
    assert run(call).code == 0
    (folder / "s.yaml").write_text((folder / "s.yaml").read_text().replace("[rba]", "[rba, mda]"))
    assert run(call).code == 0  # the scores are there
    assert server.asked == []


@pytest.mark.parametrize(
    "method",
    [
        "cut, k: 2, m: 2, hierarchy: {{by: relatedness, fanout: 2, relate: {}}}",
        "coat, k: 2, privacy: [[secret]], utility: {{relate: {}}}",
    ],
)
def test_a_method_that_asks_is_asked_about_too(call, folder, server, host, method):
    text = (
        f"scenario: s\ndata: {{file: data, format: basket}}\nanonymise: {{method: {method.format(relate(server))}}}\n"
    )
    (folder / "s.yaml").write_text(text + "relate: {measure: ngd, source: release}\n" + ATTACK)
    assert refused(run(call), host)
    assert server.asked == []
    assert run(call, "--allow-send", host).code == 0
    assert server.asked


def test_the_leaves_of_a_hierarchy_count_as_words(call, folder, server, host):
    (folder / "tree").write_text("all\n  asthma\n  insulin\n  metformin\n  secret\n  root:x:0:0\n  daemon:x:1:1\n")
    cut = "anonymise: {method: cut, k: 2, m: 2, hierarchy: {file: tree, format: indented}}\n"
    scenario(folder, server, more=cut)
    assert refused(run(call), host, words=6)
    assert "'asthma', 'daemon:x:1:1', 'insulin', …" in run(call, "--dry-run").out


def test_published_words_are_asked_about_too(call, folder, server, host):
    (folder / "p.txt").write_text("asthma, (insulin, secret)\n(insulin, secret), metformin\n")
    (folder / "s.yaml").write_text(f"scenario: s\ndata: {{published: p.txt}}\nrelate: {relate(server)}\n{ATTACK}")
    assert refused(run(call), host)
    assert run(call, "--allow-send", host).code == 0


def test_a_benchmark_asks_as_well(call, folder, server, host):
    scenario(folder, server)
    (folder / "pairs.csv").write_text("a,b,human\n" + "".join(f"flu,word{n},{n}\n" for n in range(5)))
    command = ["relate", "benchmark", "--pairs", "pairs.csv", "--scenario", "s.yaml", "--store", "s.db"]
    said = call(*command)
    assert said.code == 2
    assert f"would send 6 words to {host}; --allow-send {host}" in said.err
    assert server.asked == []
    assert call(*command, "--allow-send", host).code == 0
    assert server.asked


def test_a_dry_run_lists_what_would_be_and_does_nothing(call, folder, server, host):
    scenario(folder, server)
    before = sorted(path.name for path in folder.rglob("*"))
    said = run(call, "--dry-run")
    assert said.code == 0
    rows = [line.split(maxsplit=1) for line in said.out.splitlines()[2:]]
    assert [what for what, _ in rows].count("stage") == 11
    assert all("1 to run" in rest for what, rest in rows if what == "stage")
    assert ["file", "data"] in [[what, rest.split()[0]] for what, rest in rows]
    (line,) = (line for line in said.out.splitlines() if line.startswith("sent to"))
    assert f"{server.url}/wiki/api.php" in line
    assert f"4 words: 'asthma', 'insulin', 'metformin', …; not allowed: --allow-send {host}" in line
    assert sorted(path.name for path in folder.rglob("*")) == before
    assert server.asked == []
    assert run(call, "--allow-send", host).code == 0
    kept = (folder / "s.db").read_bytes()
    told = json.loads(run(call, "--dry-run", "--json").out)
    assert {stage["to_run"] for stage in told["stages"]} == {0}
    assert {stage["kept"] for stage in told["stages"]} == {1}
    assert told["sendings"] == []
    assert (folder / "s.db").read_bytes() == kept


def test_a_dry_run_counts_what_variants_share_once(call, folder):
    text = f"scenario: s\ndata: {{file: data, format: basket}}\n{SETS}relate: {{measure: ngd, source: release}}\n"
    (folder / "s.yaml").write_text(f"{text}attack: [rba, mda]\n")
    assert run(call).code == 0
    (folder / "s.yaml").write_text(f"{text}attack: [rba, mda]\nvary: {{anonymise.size: [2, 3]}}\n")
    stages = {stage["stage"]: (stage["to_run"], stage["kept"])
              for stage in json.loads(run(call, "--dry-run", "--json").out)["stages"]}  # fmt: skip
    assert stages["original"] == (0, 1)
    assert stages["release"] == stages["attack mda"] == (1, 1)


def wiki(url: str) -> ProviderSource:
    return ProviderSource(measure="ngd", source="provider", service="mediawiki", url=url, retries=0)


NEVER = [
    "169.254.169.254", "169.254.0.1", "2852039166", "0xa9fea9fe", "0xA9.0xFE.0xA9.0xFE", "0251.0376.0251.0376",
    "169.254.43518", "169.16689662", "[fe80::1]", "[fe80::1%25lo]", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]",
    "[::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[fd00:ec2::254]",
    "[FD00:0EC2:0:0:0:0:0:0254]", "metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "[fd20:ce::254]", "169.254.170.2",
]  # fmt: skip


@pytest.mark.parametrize("address", NEVER)
def test_addresses_where_keys_lie_are_refused_however_they_are_written(call, folder, address):
    with pytest.raises(ValueError, match="is never sent to"):
        wiki(f"http://{address}/latest/meta-data")
    url = f"http://{address}:80/api.php"
    text = f"{{measure: ngd, source: provider, service: mediawiki, url: '{url}', pages: 9}}"
    (folder / "s.yaml").write_text(f"scenario: s\ndata: {{file: data, format: basket}}\n{SETS}relate: {text}\n{ATTACK}")
    said = run(call, "--allow-send", address.strip("[]"), "--allow-send", address)
    assert said.code == 2
    assert said.err.startswith("decloak: s.yaml:4:")
    assert "is never sent to" in said.err
    assert said.err.count("\n") == 1


class Wires:
    """Names that lead where the test says, and connections that are noted and never made."""

    def __init__(self, monkeypatch, *answers: str) -> None:
        self.answers, self.connected = list(answers), []
        monkeypatch.setattr(socket, "getaddrinfo", self.resolve)
        monkeypatch.setattr(socket.socket, "connect", self.connect)

    def resolve(self, host, port, *_, **__):
        address = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port or 0))]

    def connect(self, where):
        self.connected.append(where[0])
        raise ConnectionRefusedError


@pytest.mark.parametrize("address", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_leads_there_is_refused_before_anything_is_connected(monkeypatch, folder, address, scheme):
    wires = Wires(monkeypatch, address)
    provider = Provider(wiki(f"{scheme}://nice.example/api.php"))
    with allow_hosts(["nice.example"]), pytest.raises(DecloakError, match=r"nice.example is never sent to"):
        _ = provider.n
    assert wires.connected == []


def test_what_was_looked_at_is_what_is_connected_to(monkeypatch, folder):
    """A name that leads elsewhere the second time gains nothing: it is resolved once."""
    wires = Wires(monkeypatch, "203.0.113.7", "169.254.169.254")
    provider = Provider(wiki("http://rebinding.example/api.php"))
    with allow_hosts(["rebinding.example"]), pytest.raises(DecloakError, match="refused the connection"):
        _ = provider.n
    assert wires.connected == ["203.0.113.7"]
    with allow_hosts(["rebinding.example"]), pytest.raises(DecloakError, match="never sent to"):
        _ = provider.n
    assert wires.connected == ["203.0.113.7"]


def test_behind_a_proxy_names_are_looked_at_here(monkeypatch, folder):
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("http_proxy", "http://203.0.113.9:3128")
    wires = Wires(monkeypatch, "169.254.169.254")
    provider = Provider(wiki("http://nice.example/api.php"))
    with allow_hosts(["nice.example"]), pytest.raises(DecloakError, match="never sent to"):
        _ = provider.n
    assert wires.connected == []


def test_this_machine_can_be_asked_when_it_is_allowed():
    for name in ("127.0.0.1", "localhost", "::1", "10.0.0.1", "192.168.1.1", "0x7f000001"):
        check_host_safe(name)
    with serving(allowed=False) as server:
        name, _, port = server.url.removeprefix("http://").partition(":")
        with open_connection((name, int(port)), 5) as wire:
            assert wire.getpeername() == (name, int(port))


def test_even_the_one_who_asks_is_stopped_where_nobody_has_allowed_it(server, host):
    """Whatever a run forgets to ask, the client of HTTP does not send."""
    with pytest.raises(DecloakError, match=f"sending words to {host}"):
        _ = Provider(wiki(f"{server.url}/wiki/api.php")).n
    assert server.asked == []


# Files from elsewhere.


def test_files_from_outside_the_folder_are_named_in_the_notes(call, folder):
    home = folder / "downloaded"
    home.mkdir()
    (home / "inside").write_text(DATA)
    (home / "linked").symlink_to(folder / "data")
    (home / "itself").symlink_to(home / "inside")
    absolute = folder / "data"
    for name, outside in (("inside", False), ("itself", False), ("../data", True), ("linked", True),
                          (str(absolute), True), ("../downloaded/inside", False)):  # fmt: skip
        (home / "s.yaml").write_text(
            f"scenario: s\ndata: {{file: '{name}', format: basket}}\n{SETS}"
            f"relate: {{measure: ngd, source: release}}\n{ATTACK}"
        )
        said = call("run", home / "s.yaml", "--store", home / "s.db")
        assert said.code == 0, said
        note = f"note: '{name}' was read from outside the scenario's folder: '{os.path.realpath(absolute)}'\n"
        printed = said.err.replace("\n  ", " ")  # long notes go on in indented lines
        assert (note in printed) is outside, (name, said.err)
        notes = json.loads(call("run", home / "s.yaml", "--store", home / "s.db", "--json").out)["notes"]
        assert any("outside the scenario's folder" in note for note in notes) is outside
        dry = json.loads(call("run", home / "s.yaml", "--dry-run", "--json", "--store", home / "s.db").out)
        assert [file["outside"] is not None for file in dry["files"]] == [outside]


def test_rules_and_vectors_from_outside_are_named_too(call, folder):
    home = folder / "downloaded"
    home.mkdir()
    (folder / "r.yaml").write_text(
        "rule: r\nform: query\nabout: One.\nderives: r(x)\nfacts: select 1 as x\nbecause: x\n"
        "reference: ours\nwrong_when: never\n"
    )
    (home / "data").write_text(DATA)
    (home / "s.yaml").write_text(
        f"scenario: s\ndata: {{file: data, format: basket}}\n{SETS}relate: {{measure: ngd, source: release}}\n"
        "attack: [../r.yaml, rba]\n"
    )
    said = call("run", home / "s.yaml", "--store", home / "s.db")
    assert said.code == 0
    assert "note: '../r.yaml' was read from outside the scenario's folder" in said.err
