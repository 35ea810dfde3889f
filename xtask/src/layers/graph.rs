//! The workspace's crates and their dependencies, as `cargo metadata` reports them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::shell;

/// The crates of the workspace, and everything that any crate is built from.
#[derive(Default)]
pub struct Graph {
    /// The crates of the workspace.
    pub crates: Vec<Crate>,
    /// For each package, foreign ones included, the names of those that it is built from. Versions
    /// of one package are not told apart.
    pub reach: BTreeMap<String, Vec<String>>,
}

/// A crate of the workspace.
pub struct Crate {
    /// The package's name.
    pub name: String,
    /// Whether its manifest says `lints.workspace = true`.
    pub inherits_lints: bool,
    /// What its manifest depends on, and how.
    pub edges: Vec<(String, Kind)>,
}

/// What a dependency is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// For the crate itself.
    Normal,
    /// For its tests.
    Dev,
    /// For its build script.
    Build,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "dependency",
            Self::Dev => "dev-dependency",
            Self::Build => "build-dependency",
        })
    }
}

impl Graph {
    /// Asks cargo for the graph of this workspace.
    ///
    /// # Errors
    /// If cargo or a manifest is not what it is expected to be.
    pub fn of_workspace() -> Result<Self> {
        let answer = shell::output(&mut shell::cargo(&["metadata", "--format-version", "1"]))?;
        let metadata: Metadata =
            serde_json::from_slice(&answer).context("`cargo metadata` cannot be read")?;
        let names: BTreeMap<_, _> =
            metadata.packages.iter().map(|package| (&package.id, &package.name)).collect();
        let mut graph = Self::default();
        for package in metadata
            .packages
            .iter()
            .filter(|package| metadata.workspace_members.contains(&package.id))
        {
            let edges = package.dependencies.iter();
            graph.crates.push(Crate {
                name: package.name.clone(),
                inherits_lints: inherits_lints(&package.manifest_path)?,
                edges: edges
                    .map(|edge| Ok((edge.name.clone(), kind(edge.kind.as_deref())?)))
                    .collect::<Result<_>>()?,
            });
        }
        for node in metadata.resolve.nodes {
            let reached = graph.reach.entry(names[&node.id].clone()).or_default();
            for edge in node.deps {
                if edge.dep_kinds.iter().any(|used| used.kind.is_none()) {
                    reached.push(names[&edge.pkg].clone());
                }
            }
        }
        Ok(graph)
    }

    /// Whether the workspace has a crate of this name.
    pub fn has_crate(&self, name: &str) -> bool {
        self.crates.iter().any(|candidate| candidate.name == name)
    }

    /// A shortest chain of dependencies from `from` to `to`, both included, if there is one.
    pub fn path<'a>(&'a self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::from([from]);
        let mut paths = VecDeque::from([vec![from]]);
        while let Some(path) = paths.pop_front() {
            let last = path.last()?;
            for next in self.reach.get(*last).into_iter().flatten() {
                let mut longer = path.clone();
                longer.push(next);
                if next == to {
                    return Some(longer);
                }
                if seen.insert(next) {
                    paths.push_back(longer);
                }
            }
        }
        None
    }
}

fn kind(name: Option<&str>) -> Result<Kind> {
    match name {
        None => Ok(Kind::Normal),
        Some("dev") => Ok(Kind::Dev),
        Some("build") => Ok(Kind::Build),
        Some(other) => bail!("`cargo metadata` names an unknown kind of dependency, {other}"),
    }
}

fn inherits_lints(manifest: &Path) -> Result<bool> {
    let text = fs::read_to_string(manifest)
        .with_context(|| format!("{} cannot be read", manifest.display()))?;
    let manifest: toml::Table =
        text.parse().with_context(|| format!("{} is no TOML", manifest.display()))?;
    let inherited = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    Ok(inherited.and_then(toml::Value::as_bool) == Some(true))
}

// The parts of `cargo metadata`'s answer that matter here.

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<NodeDependency>,
}

#[derive(Deserialize)]
struct NodeDependency {
    pkg: String,
    dep_kinds: Vec<DependencyUse>,
}

#[derive(Deserialize)]
struct DependencyUse {
    kind: Option<String>,
}
