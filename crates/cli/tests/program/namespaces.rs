//! The operators' guide, followed: three hosts and a participant as network namespaces on a bridge.
//!
//! The commands are those of `docs/operating.md`: its blocks marked `sh host NAME` and `sh
//! participant NAME`. Needs root, for the namespaces; says so and passes without. Nothing leaves
//! this machine.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{guide, signal};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::time::Instant;

const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];
/// The address of the participant, which no log may contain.
const PARTICIPANT: &str = "10.77.0.4";
/// How long anything may take, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(180);
/// Messages that the guide has said at once.
const SAID: usize = 5;
/// How long a server may take to stop: what the guide promises.
const STOPPED: Duration = Duration::from_secs(5);

/// Four namespaces, whose ends are on a bridge in a fifth.
struct Network {
    prefix: String,
    directory: PathBuf,
}

impl Network {
    /// `None`: this process may not make namespaces.
    fn new(directory: &Path) -> Option<Self> {
        let prefix = format!("ost{}", std::process::id() % 100_000);
        let network = Self { prefix, directory: directory.into() };
        let bridge = network.namespace("bridge");
        if !Command::new("ip")
            .args(["netns", "add", &bridge])
            .output()
            .is_ok_and(|output| output.status.success())
        {
            return None;
        }
        network.ip(&["-n", &bridge, "link", "add", "bridge", "type", "bridge"]);
        network.ip(&["-n", &bridge, "link", "set", "bridge", "up"]);
        for (i, name) in NAMES.iter().chain(&["participant"]).enumerate() {
            let namespace = network.namespace(name);
            network.ip(&["netns", "add", &namespace]);
            network.ip(&[
                "-n", &bridge, "link", "add", name, "type", "veth", "peer", "name", "eth0",
                "netns", &namespace,
            ]);
            network.ip(&["-n", &bridge, "link", "set", name, "master", "bridge", "up"]);
            network.ip(&[
                "-n",
                &namespace,
                "address",
                "add",
                &format!("10.77.0.{}/24", i + 1),
                "dev",
                "eth0",
            ]);
            network.ip(&["-n", &namespace, "link", "set", "eth0", "up"]);
            network.ip(&["-n", &namespace, "link", "set", "lo", "up"]);
            let etc = Path::new("/etc/netns").join(&namespace);
            fs::create_dir_all(&etc).expect("root may write there");
            let hosts = "127.0.0.1 localhost\n10.77.0.1 alpha.example\n10.77.0.2 beta.example\n10.77.0.3 gamma.example\n";
            fs::write(etc.join("hosts"), hosts).expect("root may write there");
            fs::create_dir(directory.join(name)).expect("a new directory");
        }
        Some(network)
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    fn ip(&self, arguments: &[&str]) {
        let output = Command::new("ip").args(arguments).output().expect("`ip` is there");
        assert!(
            output.status.success(),
            "ip {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Cuts a host off, or connects it again.
    fn set(&self, name: &str, state: &str) {
        self.ip(&["-n", &self.namespace("bridge"), "link", "set", name, state]);
    }

    /// A command of the guide, on one of the hosts, in its directory.
    fn command(&self, name: &str, script: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_ostrakon")).parent().expect("a directory");
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("ip");
        // The shell's last command takes its place, so that signals reach it.
        command.args(["netns", "exec", &self.namespace(name), "sh", "-ec", script]);
        command.current_dir(self.directory.join(name)).env("PATH", path).stdin(Stdio::null());
        command.env("NAME", name).env("HOST", format!("{name}.example"));
        let authority = self.directory.join("authority.pem");
        command
            .env("SSL_CERT_FILE", &authority)
            .env("CURL_CA_BUNDLE", authority)
            .env_remove("OSTRAKON_LOG");
        command
    }

    fn run(&self, name: &str, script: &str) -> String {
        let output = self.command(name, script).output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "on {name}: {script}\n{said}\n{}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stdout).expect("text")
    }

    /// Repeats a command until it succeeds, or, if `success` is false, until it fails.
    fn until(&self, name: &str, script: &str, success: bool) {
        let deadline = Instant::now() + PATIENCE;
        while self.command(name, script).output().expect("a shell").status.success() != success {
            assert!(Instant::now() < deadline, "on {name}, not in time: {script}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    fn logs(&self) -> String {
        let log = |name: &str| {
            fs::read_to_string(self.directory.join(name).join("log")).unwrap_or_default()
        };
        let tail = |text: String| text.lines().rev().take(15).collect::<Vec<_>>().join("\n");
        NAMES.map(|name| format!("{name}:\n{}", tail(log(name)))).join("\n")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in NAMES.iter().chain(&["participant", "bridge"]) {
            let namespace = self.namespace(name);
            // What was not made cannot be deleted.
            let _ = Command::new("ip").args(["netns", "delete", &namespace]).output();
            let _ = fs::remove_dir_all(Path::new("/etc/netns").join(&namespace));
        }
    }
}

/// A server that runs on one of the hosts, and is killed with the test.
struct Server(Child);

impl Server {
    fn start(network: &Network, name: &str, script: &str) -> Self {
        let path = network.directory.join(name).join("log");
        let log = File::options().create(true).append(true).open(path).expect("a log");
        let mut command = network.command(name, &format!("exec {}", script.trim_start()));
        Self(command.env("OSTRAKON_LOG", "trace").stderr(log).spawn().expect("a shell"))
    }

    /// Ends it in order.
    fn stop(mut self) {
        signal("TERM", self.0.id());
        let since = Instant::now();
        while self.0.try_wait().expect("a child").is_none() {
            assert!(since.elapsed() < STOPPED, "a server does not stop in time");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(self.0.wait().expect("a child").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if the test went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An authority, and a certificate of it for every host.
fn certificates(directory: &Path) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "the authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("a certificate");
    fs::write(directory.join("authority.pem"), authority.pem()).expect("a file");
    let issuer = Issuer::new(params, key);
    for name in NAMES {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![format!("{name}.example")]).expect("a name");
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        let home = directory.join(name);
        fs::write(home.join("certificate.pem"), certificate.pem()).expect("a file");
        fs::write(home.join("key.pem"), key.serialize_pem()).expect("a file");
        assert!(
            Command::new("chmod")
                .arg("600")
                .arg(home.join("key.pem"))
                .status()
                .expect("chmod")
                .success()
        );
    }
}

/// What the operators do by hand: every host gets all three cards.
fn exchange(directory: &Path) {
    for to in NAMES {
        fs::create_dir(directory.join(to).join("cards")).expect("a directory");
        for from in NAMES {
            let card = directory.join(from).join("server/card.toml");
            fs::copy(card, directory.join(to).join("cards").join(format!("{from}.toml")))
                .expect("a card");
        }
    }
}

/// Says something while others come and go: who is left alone waits, since the room's minimum does
/// not let one message out by itself.
fn say_in_company(network: &Network, link: &str, say: impl Fn()) {
    let company = format!(
        "while sleep 20; do for n in 1 2; do timeout 60 ostrakon say '{link}' company & done; done"
    );
    let mut company = network.command("participant", &company);
    company.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut company = company.spawn().expect("a shell");
    say();
    // The signal goes to everybody whom the shell has started, too: whoever waits for news would
    // keep the servers from stopping.
    let group = format!("-{}", company.id());
    let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
    assert!(killed.expect("kill is there").success());
    company.wait().expect("a child");
}

#[test]
fn the_guide_leads_three_operators_to_a_room_and_through_trouble() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(network) = Network::new(directory.path()) else {
        println!("skipped: making network namespaces takes root and the program `ip`");
        return;
    };
    let guide = guide();
    let host = |name: &str, step: &str| network.run(name, guide[format!("host {step}").as_str()]);
    let each = |step: &str| NAMES.map(|name| host(name, step));
    each("card");
    exchange(directory.path());
    certificates(directory.path());
    each("configure");
    let checked = each("check");
    assert!(
        checked[0].contains("beta cannot be reached") && checked[0].contains("is good"),
        "{}",
        checked[0]
    );

    let serve = guide["host serve"];
    let mut servers = VecDeque::from(NAMES.map(|name| Server::start(&network, name, serve)));
    let ready = guide["host ready"];
    let all_ready = || NAMES.iter().for_each(|name| network.until(name, ready, true));
    all_ready();
    assert!(!host("alpha", "check").contains("cannot be reached"), "servers that run are reached");

    let links = host("alpha", "room");
    let link = links
        .split_whitespace()
        .find(|word| word.contains("alpha.example/#/room/"))
        .expect("a link")
        .to_owned();
    let participant = |step: &str| {
        let script = guide[format!("participant {step}").as_str()];
        network.run("participant", &format!("LINK='{link}'\n{script}"))
    };
    let say = || say_in_company(&network, &link, || drop(participant("say")));
    let board = || participant("watch").matches("message ").count();
    say();
    assert_eq!(board(), SAID);

    // One host is cut off, and comes back.
    network.set("gamma", "down");
    network.until("alpha", ready, false);
    network.set("gamma", "up");
    all_ready();
    say();
    assert_eq!(board(), 2 * SAID);

    // An upgrade, one server after the other, with a change of tokens.
    for name in NAMES {
        servers.pop_front().expect("three servers").stop();
        servers.push_back(Server::start(&network, name, serve));
        all_ready();
    }
    host("alpha", "rotate");
    network.until(
        "alpha",
        "ostrakon room list --server https://$HOST --token-file server/admin.token",
        true,
    );
    say();
    assert_eq!(board(), 3 * SAID);

    // A server is lost: what was published is not.
    host("gamma", "backup");
    drop(servers.pop_back());
    participant("export");
    assert!(participant("verify").contains("authentic"));
    // What was backed up makes a server that may start, in an empty place.
    let elsewhere = "mkdir elsewhere && cp ostrakon-backup.tar elsewhere/ && cd elsewhere\n";
    let checked = network
        .run("gamma", &[elsewhere, guide["host restore"], "cat server/admin.token"].concat());
    assert!(checked.contains("is good"), "{checked}");
    servers.into_iter().for_each(Server::stop);
    for name in NAMES {
        let log = fs::read_to_string(directory.path().join(name).join("log")).expect("a log");
        assert!(
            log.lines().count() > 3 && !log.contains(PARTICIPANT),
            "{name}'s log names a participant's address"
        );
        assert!(!log.to_lowercase().contains("submission"), "{name}'s log tells of a submission");
    }
}

#[test]
fn the_guide_has_the_blocks_that_the_test_follows() {
    let guide = guide();
    for step in
        ["card", "configure", "check", "serve", "ready", "room", "rotate", "backup", "restore"]
    {
        assert!(guide.contains_key(format!("host {step}").as_str()), "{step}");
    }
    for step in ["say", "watch", "export", "verify"] {
        assert!(guide.contains_key(format!("participant {step}").as_str()), "{step}");
    }
}
