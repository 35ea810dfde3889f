//! Lists of edges as people have them: `src,dst` lines, and the format of SNAP (tabs or spaces, `#`
//! before comments).

use std::collections::BTreeMap;

use ostrakon_crypto::{Digest, Transcript};

use crate::owner::Edge;

/// Longest name of a vertex in bytes.
const NAME_BYTES: usize = 100;
/// Longest line in bytes.
const LINE_BYTES: usize = 1000;
/// Most edges that a line can stand for.
const MOST_WEIGHT: u32 = 1000;
/// How many bad lines are told.
const TOLD: usize = 20;

/// Names of vertices, numbered in the job's order. Owners must use the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(How);

#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    Listed(BTreeMap<String, u32>),
    Numbers(u32),
}

impl Default for Names {
    fn default() -> Self {
        Self(How::Listed(BTreeMap::new()))
    }
}

/// Why a list of edges cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A line that is not two names.
    #[error("line {0}: expected two names, separated by a comma, a tab or spaces")]
    Line(usize),
    /// A third field that is no number of edges.
    #[error(
        "line {0}: the third field says how many edges it is: a whole number from 1 to {MOST_WEIGHT}"
    )]
    Weight(usize),
    /// A third field that is no length.
    #[error("line {0}: the third field says how long the edge is: a whole number from 1 to {1}")]
    Length(usize, u32),
    /// A name that the job does not have.
    #[error("line {0}: the job has no vertex {1:?}")]
    Unknown(usize, String),
    /// A name that occurs twice, or is none.
    #[error("the name {0:?} occurs twice, or is longer than {NAME_BYTES} bytes")]
    Twice(String),
}

impl Names {
    /// One name a line; the first one is vertex 0.
    ///
    /// # Errors
    /// [`ReadError::Twice`].
    pub fn read(text: &str) -> Result<Self, ReadError> {
        Self::of(lines(text).map(|(_, name)| name))
    }

    /// These names in their order.
    ///
    /// # Errors
    /// [`ReadError::Twice`].
    pub fn of<'a>(listed: impl Iterator<Item = &'a str>) -> Result<Self, ReadError> {
        let mut names = BTreeMap::new();
        for name in listed {
            let twice = || ReadError::Twice(name.chars().take(NAME_BYTES).collect());
            let number = u32::try_from(names.len()).map_err(|_| twice())?;
            if !Self::is_name(name) || names.insert(name.to_owned(), number).is_some() {
                return Err(twice());
            }
        }
        Ok(Self(How::Listed(names)))
    }

    /// Vertices that are called by their numbers, from 0.
    pub fn numbers(vertices: u32) -> Self {
        Self(How::Numbers(vertices))
    }

    /// Whether a vertex may be called so: short, on one line, and no comment.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        (1..=NAME_BYTES).contains(&name.len())
            && name.trim() == name
            && !name.starts_with('#')
            && !name.chars().any(|c| c.is_control() || c == ',')
    }

    /// A digest by which everybody sees that they have the same names in the same order.
    pub fn digest(&self) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/graph/names of vertices");
        for name in self.list() {
            transcript.field(name.as_bytes());
        }
        transcript.finish()
    }

    /// All names, in the vertices' order.
    pub fn list(&self) -> Vec<String> {
        match &self.0 {
            How::Numbers(vertices) => (0..*vertices).map(|vertex| vertex.to_string()).collect(),
            How::Listed(names) => {
                let mut list = vec![String::new(); names.len()];
                names.iter().for_each(|(name, at)| list[*at as usize].clone_from(name));
                list
            }
        }
    }

    /// How many vertices there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            How::Listed(names) => names.len(),
            How::Numbers(vertices) => *vertices as usize,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The vertex of a name.
    pub fn vertex(&self, name: &str) -> Option<u32> {
        match &self.0 {
            How::Listed(names) => names.get(name).copied(),
            How::Numbers(vertices) => name.parse().ok().filter(|number| number < vertices),
        }
    }

    /// Reads edges, one a line. A first line `src,dst` is a heading.
    ///
    /// # Errors
    /// What is wrong with the first bad line.
    pub fn edges(&self, text: &str, third: Third) -> Result<Vec<Edge>, ReadError> {
        let mut reading = Reading::of(third);
        reading.take(self, text);
        let (edges, errors) = reading.end(self);
        errors.into_iter().next().map_or(Ok(edges), Err)
    }

    /// The names that occur in a list of edges, in its order, as often as they do.
    ///
    /// # Errors
    /// [`ReadError::Line`].
    pub fn in_edges(text: &str) -> Result<Vec<&str>, ReadError> {
        let mut names = Vec::new();
        for (number, line) in lines(text) {
            if !names.is_empty() || !is_heading(line) {
                names.extend(fields(number, line)?.0);
            }
        }
        Ok(names)
    }

    fn edge(&self, number: usize, line: &str) -> Result<Edge, ReadError> {
        let ([source, target], _) = fields(number, line)?;
        let vertex = |name: &str| {
            let told = || name.chars().take(NAME_BYTES).collect();
            self.vertex(name).ok_or_else(|| ReadError::Unknown(number, told()))
        };
        Ok(Edge { source: Some(vertex(source)?), target: Some(vertex(target)?) })
    }
}

/// A list of edges that is read piece by piece.
#[derive(Default)]
pub struct Reading {
    /// The beginning of a line whose end has not come yet.
    begun: String,
    lines: usize,
    edges: Vec<Edge>,
    errors: Vec<ReadError>,
    wrong: usize,
    third: Third,
}

/// What the third field on a line says; 1 if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Third {
    /// Nothing that counts.
    #[default]
    Nothing,
    /// How many edges the line stands for.
    Edges,
    /// How long the edge is, up to so long.
    Length(u32),
}

impl Reading {
    /// Of lines whose third field says this.
    #[must_use]
    pub fn of(third: Third) -> Self {
        Self { third, ..Self::default() }
    }

    /// The edges that a line stands for: so many times this one.
    fn edges_of(&self, names: &Names, line: &str) -> Result<(Edge, usize), ReadError> {
        let edge = names.edge(self.lines, line)?;
        let field = fields(self.lines, line)?.1.filter(|_| self.third != Third::Nothing);
        let number = field.map_or(Some(1), |field| field.parse::<u32>().ok());
        match (number, self.third) {
            (Some(weight @ 1..=MOST_WEIGHT), Third::Edges) => Ok((edge, weight as usize)),
            (Some(length), Third::Length(longest)) if (1..=longest).contains(&length) => {
                let vertices = u32::try_from(names.len()).unwrap_or(u32::MAX);
                Ok((edge.delayed(length, vertices), 1))
            }
            (_, Third::Nothing) => Ok((edge, 1)),
            (_, Third::Edges) => Err(ReadError::Weight(self.lines)),
            (_, Third::Length(longest)) => Err(ReadError::Length(self.lines, longest)),
        }
    }

    /// Takes the next piece, which may end anywhere.
    pub fn take(&mut self, names: &Names, piece: &str) {
        for part in piece.split_inclusive('\n') {
            // Of a line that is too long the beginning is enough to refuse it.
            let room = LINE_BYTES.saturating_sub(self.begun.len());
            self.begun.extend(part.chars().take(room));
            if part.ends_with('\n') {
                self.line(names);
            }
        }
    }

    fn line(&mut self, names: &Names) {
        let line = std::mem::take(&mut self.begun);
        self.lines += 1;
        let line = line.trim();
        let first = self.edges.is_empty() && self.wrong == 0;
        if line.is_empty() || line.starts_with('#') || first && is_heading(line) {
            return;
        }
        match self.edges_of(names, line) {
            Ok((edge, weight)) => self.edges.extend(std::iter::repeat_n(edge, weight)),
            Err(error) => {
                self.wrong += 1;
                if self.errors.len() < TOLD {
                    self.errors.push(error);
                }
            }
        }
    }

    /// How many edges have been read.
    pub fn len(&self) -> usize {
        self.edges.len()
    }

    /// Whether none has been read.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// How many lines were wrong.
    pub fn wrong(&self) -> usize {
        self.wrong
    }

    /// What was wrong with the first bad lines.
    pub fn errors(&self) -> &[ReadError] {
        &self.errors
    }

    /// Takes a last line without an end.
    pub fn finish(&mut self, names: &Names) {
        if !self.begun.is_empty() {
            self.line(names);
        }
    }

    /// The edges, and what was wrong with the first bad lines.
    pub fn end(mut self, names: &Names) -> (Vec<Edge>, Vec<ReadError>) {
        self.finish(names);
        (self.edges, self.errors)
    }
}

fn is_heading(line: &str) -> bool {
    let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    line == "src,dst" || line == "src,dst,weight"
}

/// The two names on a line, and what stands behind them.
fn fields(number: usize, line: &str) -> Result<([&str; 2], Option<&str>), ReadError> {
    let fields: Vec<&str> = if line.contains(',') {
        line.split(',').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    };
    match fields[..] {
        [source, target] if !source.is_empty() && !target.is_empty() => {
            Ok(([source, target], None))
        }
        [source, target, third] if !source.is_empty() && !target.is_empty() => {
            Ok(([source, target], Some(third)))
        }
        _ => Err(ReadError::Line(number)),
    }
}

/// Lines that say something, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_and_nothing_else() {
        let names = Names::read("# people\nanna\nben\n\n7\n").unwrap();
        assert_eq!((names.len(), names.vertex("7"), names.vertex("x")), (3, Some(2), None));
        let edge = |source, target| Edge { source: Some(source), target: Some(target) };
        let want = Ok(vec![edge(0, 1), edge(1, 2)]);
        assert_eq!(names.edges("src,dst\nanna,ben\nben, 7,0.5\n", Third::Nothing), want);
        assert_eq!(names.edges("# FromNodeId ToNodeId\nanna\tben\nben 7\n", Third::Nothing), want);
        assert_eq!(names.edges("", Third::Nothing), Ok(Vec::new()));
        for (text, line) in [("anna", 1), ("anna,ben\nanna,", 2), ("a b c d", 1), (",ben", 1)] {
            assert_eq!(names.edges(text, Third::Nothing), Err(ReadError::Line(line)), "{text:?}");
        }
        assert_eq!(
            names.edges("anna,carl", Third::Nothing),
            Err(ReadError::Unknown(1, "carl".to_owned()))
        );
        assert_eq!(Names::read("a\na"), Err(ReadError::Twice("a".to_owned())));
    }

    #[test]
    fn numbers_are_names_and_pieces_may_end_anywhere() {
        let names = Names::numbers(4);
        let text = "src,dst\r\n0,1\r\n# a comment\n3 2\n4,1\nnonsense\n2,3";
        let whole = names.edges(text, Third::Nothing);
        assert_eq!(whole, Err(ReadError::Unknown(5, "4".to_owned())));
        for size in 1..text.len() {
            let mut reading = Reading::default();
            for piece in text.as_bytes().chunks(size) {
                reading.take(&names, std::str::from_utf8(piece).unwrap());
            }
            assert_eq!(reading.wrong(), 2);
            let (edges, errors) = reading.end(&names);
            let want = vec![ReadError::Unknown(5, "4".to_owned()), ReadError::Line(6)];
            assert_eq!((edges.len(), errors), (3, want), "pieces of {size}");
        }
    }

    #[test]
    fn a_weight_is_a_number_of_edges() {
        let names = Names::numbers(3);
        let read = |weighted, text: &str| {
            let mut reading = Reading::of(if weighted { Third::Edges } else { Third::Nothing });
            reading.take(&names, text);
            reading.end(&names)
        };
        let text = "src,dst,weight\n0,1,3\n1 2\n2,0, 1\n";
        let (edges, errors) = read(true, text);
        let edge = |source, target| Edge { source: Some(source), target: Some(target) };
        let want = [edge(0, 1), edge(0, 1), edge(0, 1), edge(1, 2), edge(2, 0)];
        assert_eq!((&edges[..], errors), (&want[..], vec![]));
        assert_eq!(read(false, text).0.len(), 3, "not where weights do not count");
        for wrong in ["0", "-1", "1.5", "1001", "99999999999", "x"] {
            let text = format!("0,1\n0,1,{wrong}\n");
            let (edges, errors) = read(true, &text);
            assert_eq!((edges.len(), errors), (1, vec![ReadError::Weight(2)]), "{wrong}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let names = Names::numbers(2);
        let mut reading = Reading::default();
        for _ in 0..1000 {
            reading.take(&names, &"x".repeat(LINE_BYTES));
        }
        assert!(reading.begun.len() <= LINE_BYTES);
        assert_eq!(reading.end(&names).1, vec![ReadError::Line(1)]);
    }

    #[test]
    fn names_have_a_digest_of_their_order() {
        let of = |text| Names::read(text).unwrap();
        assert_eq!(of("a\nb").digest(), of("# c\na\n\nb").digest());
        assert_ne!(of("a\nb").digest(), of("b\na").digest());
        assert_ne!(of("a\nb").digest(), of("ab").digest());
        assert_eq!(of("b\na").list(), ["b", "a"]);
        assert!(Names::read("a,b").is_err(), "a comma separates names");
    }

    #[test]
    fn a_length_is_a_delay_of_the_source() {
        let names = Names::numbers(3);
        let edge = |source, target| Edge { source: Some(source), target: Some(target) };
        let read = |text: &str| names.edges(text, Third::Length(4));
        let edges = read("src,dst,weight\n0,1,4\n1 2\n2,0, 1\n").unwrap();
        assert_eq!(edges, [edge(9, 1), edge(1, 2), edge(2, 0)]);
        assert_eq!(edges[0].back(3), edge(10, 0), "as long in the other direction");
        for wrong in ["0", "5", "-1", "1.5", "4294967296", "x"] {
            assert_eq!(read(&format!("0,1\n0,1,{wrong}\n")), Err(ReadError::Length(2, 4)));
        }
    }
}
