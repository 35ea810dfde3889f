//! A group of servers on this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::Kind;
use crate::client::http_client;
use crate::serving::processes::Processes;
use crate::serving::serve::interrupted;
use crate::serving::site::Server;
use crate::{output, secret};

/// From a server's public port to the port for the other servers.
const MESH_OFFSET: u16 = 100;

/// Servers of one kind in folders of one directory, on ports that follow each other.
pub struct Loopback<'a> {
    directory: &'a Path,
    kind: &'static Kind,
}

/// Where one of them is.
pub struct Place {
    /// Its name, which is also its folder's.
    pub name: String,
    /// Its directory.
    pub home: PathBuf,
    /// Where its public interface listens.
    pub http: SocketAddr,
    /// Where it listens for the other servers.
    pub mesh: SocketAddr,
}

impl Place {
    /// Origin of its public interface.
    pub fn url(&self) -> String {
        format!("http://{}", self.http)
    }
}

impl<'a> Loopback<'a> {
    /// Servers of `kind` in folders of `directory`.
    pub fn new(directory: &'a Path, kind: &'static Kind) -> Self {
        Self { directory, kind }
    }

    /// Whether the servers were made before. Then they stay as many as they are: where another
    /// number is `asked` for, others are meant.
    ///
    /// # Errors
    /// If they are not as many as asked for.
    pub fn exists(&self, asked: Option<u8>) -> Result<bool> {
        let (there, what) = (self.directory.display(), self.kind.server);
        let count = (0..).take_while(|number| self.home(*number).exists()).count();
        let asked = asked.map_or(count, usize::from);
        ensure!(
            count == 0 || asked == count,
            "{there} has {count} {what}s, and stays so: ask for {count} again, or name another \
             --data-dir for {asked}"
        );
        Ok(self.directory.exists())
    }

    /// Places for new servers, `count` of them.
    ///
    /// # Errors
    /// If there are not so many ports from `base_port` on.
    pub fn places(&self, count: u8, base_port: u16) -> Result<Vec<Place>> {
        let last = u16::MAX - MESH_OFFSET - u16::from(count);
        ensure!((1..last).contains(&base_port), "--base-port must be from 1 to {last}");
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let place = |number: u8| Place {
            name: self.name(number.into()),
            home: self.home(number.into()),
            http: at(base_port + u16::from(number)),
            mesh: at(base_port + MESH_OFFSET + u16::from(number)),
        };
        Ok((0..count).map(place).collect())
    }

    /// Gives the group's description to each server.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn hand_out(&self, places: &[Place], description: &impl serde::Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(description)?;
        places
            .iter()
            .try_for_each(|place| secret::write_new(&place.home.join(self.kind.founded), &text))
    }

    /// The directory of a server, counted from 0.
    pub fn home(&self, number: usize) -> PathBuf {
        self.directory.join(self.name(number))
    }

    fn name(&self, number: usize) -> String {
        format!("{}-{}", self.kind.server, number + 1)
    }

    /// The servers as processes to be started, from names and URLs in their order.
    pub fn servers<'b>(&self, cards: impl Iterator<Item = (&'b str, &'b str)>) -> Vec<Server> {
        let server = |(number, (name, url)): (usize, (&str, &str))| {
            let home = self.home(number);
            Server {
                name: name.to_owned(),
                log: home.join("log"),
                command: vec![
                    self.kind.command.into(),
                    "serve".into(),
                    "--home".into(),
                    home.into(),
                ],
                url: url.to_owned(),
            }
        };
        cards.enumerate().map(server).collect()
    }
}

/// Runs servers until Ctrl-C; `opened` tells the user of them once they are ready.
///
/// # Errors
/// If they cannot be started, or do not come to work.
pub async fn run_until_stopped(
    servers: Vec<Server>,
    web: Option<&Path>,
    waiting_for: &'static str,
    opened: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut processes = Processes::of(servers, web)?;
    let http = http_client()?;
    let work = async {
        let spinner = output::spinner(waiting_for);
        processes.ready(&http, |reason| spinner.set_message(reason)).await?;
        spinner.finish_and_clear();
        opened()?;
        eprintln!("Ctrl-C stops the servers; the next start continues with the same data.");
        processes.keep(|text| eprintln!("{text}")).await
    };
    let result = tokio::select! {
        result = work => result,
        () = interrupted() => {
            eprintln!("stopping");
            Ok(())
        }
    };
    processes.stop().await;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        command: "committee",
        server: "member",
        group: "committee",
        config: "member.toml",
        founded: "committee.json",
    };

    #[test]
    fn servers_that_were_made_stay_as_many() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("committee");
        let group = Loopback::new(&path, &KIND);
        assert!(!group.exists(Some(5)).unwrap());
        (0..3).for_each(|number| std::fs::create_dir_all(group.home(number)).unwrap());
        assert!(group.exists(None).unwrap() && group.exists(Some(3)).unwrap());
        let refused = group.exists(Some(5)).unwrap_err().to_string();
        assert!(refused.contains("has 3 members") && refused.contains("--data-dir"));
    }
}
