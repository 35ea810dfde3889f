//! The direction of dependencies between the modules of a crate: there is an order in which each
//! uses those before it only.
//!
//! A module and its parts are one: a part may use what its parent defines. Among the parts of one
//! module, and among the modules of the crate itself, there is no cycle. Tests are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Where a module is in its crate; the crate itself is the empty path.
type Place = Vec<String>;

/// A crate's modules, with what each says.
#[derive(Default)]
pub struct Modules(BTreeMap<Place, String>);

impl Modules {
    /// Reads the modules of the crate whose sources are in `folder`.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut modules = Self::default();
        modules.read_folder(folder, &[])?;
        Ok(modules)
    }

    fn read_folder(&mut self, folder: &Path, at: &[String]) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut place = at.to_vec();
            if path.is_dir() {
                place.push(name);
                self.read_folder(&path, &place)?;
                continue;
            }
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            if !matches!(name.as_str(), "lib" | "main" | "mod") {
                place.push(name);
            }
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            self.add(place, &text);
        }
        Ok(())
    }

    /// Takes a module in, without its comments and its tests.
    pub fn add(&mut self, place: Place, text: &str) {
        if place.iter().any(|name| name == "tests") {
            return;
        }
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = code.split("#[cfg(test)]\npub(crate) mod ").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
        self.0.insert(place, lines.collect::<Vec<_>>().join("\n"));
    }

    /// The modules that stand in a cycle, group by group.
    pub fn cycles(&self) -> Vec<Vec<String>> {
        let mut graph: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
        for (from, code) in &self.0 {
            for to in paths(code).iter().filter_map(|path| self.target(from, path)) {
                let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                if shared < from.len() && shared < to.len() {
                    let part = |place: &Place| place[..=shared].to_vec();
                    graph.entry(part(from)).or_default().insert(part(&to));
                }
            }
        }
        let mut left: BTreeSet<&Place> = graph.keys().collect();
        let mut cycles = Vec::new();
        while let Some(one) = left.pop_first() {
            let mut group = vec![one.join("::")];
            for other in reached(&graph, one) {
                if other != one && reached(&graph, other).contains(one) && left.remove(other) {
                    group.push(other.join("::"));
                }
            }
            if group.len() > 1 {
                cycles.push(group);
            }
        }
        cycles
    }

    /// The module that a path leads to which stands in module `from`.
    fn target(&self, from: &[String], path: &[&str]) -> Option<Place> {
        let mut place = match *path.first()? {
            "crate" => Vec::new(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            _ => return None,
        };
        for name in &path[1..] {
            if *name == "super" {
                place.pop()?;
                continue;
            }
            let deeper = [&place[..], &[(*name).to_owned()]].concat();
            if !self.0.contains_key(&deeper) {
                // What a module hands on is where it comes from.
                return Some(self.handed_on(&place, name).unwrap_or(place));
            }
            place = deeper;
        }
        Some(place)
    }

    /// Where `name` comes from, if the module at `place` takes it from a part of its own.
    fn handed_on(&self, place: &[String], name: &str) -> Option<Place> {
        let code = self.0.get(place)?;
        paths(code).iter().find_map(|path| {
            let (last, way) = path.split_last()?;
            let part = [place, &[(*way.first()?).to_owned()]].concat();
            (*last == name && self.0.contains_key(&part)).then(|| {
                let mut found = part;
                for step in &way[1..] {
                    let deeper = [&found[..], &[(*step).to_owned()]].concat();
                    if !self.0.contains_key(&deeper) {
                        break;
                    }
                    found = deeper;
                }
                found
            })
        })
    }
}

fn reached<'a>(graph: &'a BTreeMap<Place, BTreeSet<Place>>, from: &Place) -> BTreeSet<&'a Place> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&Place> = graph.get(from).into_iter().flatten().collect();
    while let Some(place) = next.pop() {
        if found.insert(place) {
            next.extend(graph.get(place).into_iter().flatten());
        }
    }
    found
}

/// The paths of a text, those in braces each for itself: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    let mut beginnings: Vec<Vec<&str>> = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    let mut rest = code;
    // Whether what came last was `::`, so that the next name goes on with the path.
    let mut goes_on = false;
    while let Some(first) = rest.chars().next() {
        let length = rest
            .find(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .unwrap_or(rest.len());
        if length > 0 {
            let (name, after) = rest.split_at(length);
            if !goes_on {
                end(&mut found, &mut path, &beginnings);
            }
            path.push(name);
            (rest, goes_on) = (after, false);
        } else if let Some(after) = rest.strip_prefix("::") {
            (rest, goes_on) = (after, true);
        } else {
            match first {
                '{' if goes_on => {
                    let outer = beginnings.last().cloned().unwrap_or_default();
                    beginnings.push([outer, std::mem::take(&mut path)].concat());
                }
                '{' => {
                    end(&mut found, &mut path, &beginnings);
                    beginnings.push(Vec::new());
                }
                '}' => {
                    end(&mut found, &mut path, &beginnings);
                    beginnings.pop();
                }
                _ => end(&mut found, &mut path, &beginnings),
            }
            (rest, goes_on) = (&rest[first.len_utf8()..], false);
        }
    }
    end(&mut found, &mut path, &beginnings);
    found
}

fn end<'a>(found: &mut Vec<Vec<&'a str>>, path: &mut Vec<&'a str>, beginnings: &[Vec<&'a str>]) {
    if !path.is_empty() {
        let beginning = beginnings.last().cloned().unwrap_or_default();
        let whole = [beginning, std::mem::take(path)].concat();
        if whole.len() > 1 {
            found.push(whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Modules, paths};

    fn modules(files: &[(&str, &str)]) -> Modules {
        let mut modules = Modules::default();
        for (place, text) in files {
            let place = place.split("::").filter(|name| !name.is_empty());
            modules.add(place.map(str::to_owned).collect(), text);
        }
        modules
    }

    #[test]
    fn paths_in_braces_are_read_each_for_itself() {
        let code = "use crate::{a, b::{self, C}};\nfn f() { crate::d::e(x) }";
        assert_eq!(
            paths(code),
            [
                vec!["crate", "a"],
                vec!["crate", "b", "self"],
                vec!["crate", "b", "C"],
                vec!["crate", "d", "e"],
            ]
        );
    }

    #[test]
    fn a_cycle_of_modules_is_found_however_long_and_wherever() {
        let order = [("", "mod a;"), ("a", "use crate::b::B;"), ("b", ""), ("c", "crate::a::f()")];
        assert!(modules(&order).cycles().is_empty());
        let three = [("a", "crate::b::f()"), ("b", "use crate::{c::x};"), ("c", "crate::a::f()")];
        assert_eq!(modules(&three).cycles(), [["a", "b", "c"]]);
        let inside = [("m", ""), ("m::a", "use super::b::X;"), ("m::b", "use crate::m::a::Y;")];
        assert_eq!(modules(&inside).cycles(), [["m::a", "m::b"]]);
        let deep = [("a", ""), ("a::x", "use crate::b::B;"), ("b", ""), ("b::y", "crate::a::f()")];
        assert_eq!(modules(&deep).cycles(), [["a", "b"]]);
    }

    #[test]
    fn a_part_may_use_its_parent_and_tests_may_use_everything() {
        let parts = [("", "mod m;"), ("m", "mod a; use a::A;"), ("m::a", "use super::M;")];
        assert!(modules(&parts).cycles().is_empty());
        let tests = [("a", "#[cfg(test)]\nmod tests { use crate::b::B; }"), ("b", "crate::a::f()")];
        assert!(modules(&tests).cycles().is_empty());
        let comment = [("a", "// see crate::b::B\n"), ("b", "crate::a::f()")];
        assert!(modules(&comment).cycles().is_empty());
    }

    #[test]
    fn what_a_module_hands_on_counts_as_where_it_comes_from() {
        let files =
            [("", "pub use b::B;"), ("a", "use crate::B;"), ("b", "fn f() { crate::a::g() }")];
        assert_eq!(modules(&files).cycles(), [["a", "b"]]);
    }
}
