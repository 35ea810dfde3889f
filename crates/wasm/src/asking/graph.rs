//! What [`super::AskedGraph`] does, without a browser.

use std::collections::BTreeSet;

use ostrakon_computation::{
    Cancellation, Committee, ComputationId, Contributors, Draft, Input, Order, SignedDraft,
};
use ostrakon_crypto::{Digest, Secret, SigningKey, VerifyingKey};
use ostrakon_graph::asked::{self, Keep, Naming, Noise, Program, ReaderKey, Shown, Terms, Values};
use ostrakon_graph::edges::{Names, Reading};
use serde::{Deserialize, Serialize};

use super::inner::{Published, Shown as Result, View, heard, is_receipt_of, random, sentence};

/// A graph that a committee was asked about, and a file that is being read.
pub struct AskedGraph {
    committee: Committee,
    digest: Digest,
    draft: Draft,
    computation: ComputationId,
    terms: Terms,
    /// None until a file of names was given, if they stand in one.
    names: Option<Names>,
    reading: Reading,
}

/// What somebody wants to ask.
#[derive(Deserialize)]
struct Asking {
    text: String,
    /// The vertices' names, one a line; none for numbers.
    names: Option<String>,
    /// How many vertices there are, if they have no names.
    vertices: u32,
    edges: u32,
    undirected: bool,
    #[serde(default)]
    weighted: bool,
    #[serde(flatten)]
    wanted: Wanted,
    #[serde(default)]
    keep: Option<Keep>,
    minimum: u32,
    closes: Option<u64>,
    invited: Option<Vec<VerifyingKey>>,
}

/// Another question about contributions that are kept.
#[derive(Deserialize)]
struct Further {
    text: String,
    #[serde(flatten)]
    wanted: Wanted,
}

/// What is computed, and what is shown of it to whom.
#[derive(Deserialize)]
struct Wanted {
    program: Named,
    shown: Shown,
    #[serde(default)]
    noise: Option<Noise>,
    for_me: bool,
}

/// [`Program`] with the names of vertices.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Named {
    Distances { from: Vec<String>, hops: u32 },
    Reach { from: Vec<String>, hops: u32 },
    Shortest { from: Vec<String>, within: u32, longest: u32 },
    Components { hops: u32 },
    Edges,
    InDegrees,
    OutDegrees,
    Katz { base: u64, hops: u32 },
    Pagerank { damping: u32, hops: u32 },
}

#[derive(Serialize)]
struct Asked {
    id: ComputationId,
    committee: String,
    draft: SignedDraft,
    /// Whether everybody who contributes needs the file of names.
    named_elsewhere: bool,
}

impl Wanted {
    fn program(&self, names: &Names) -> Result<Program> {
        let vertex = |name: &String| {
            names.vertex(name).ok_or_else(|| format!("there is no vertex \"{name}\""))
        };
        let all = |names: &[String]| -> Result<Vec<u32>> {
            let places: Result<BTreeSet<u32>> = names.iter().map(vertex).collect();
            Ok(places?.into_iter().collect())
        };
        Ok(match &self.program {
            Named::Distances { from, hops } => {
                Program::Distances { from: all(from)?, hops: *hops, processors: None }
            }
            Named::Reach { from, hops } => Program::Reach { from: all(from)?, hops: *hops },
            Named::Shortest { from, within, longest } => {
                Program::Shortest { from: all(from)?, within: *within, longest: *longest }
            }
            Named::Components { hops } => Program::Components { hops: *hops },
            Named::Edges => Program::Edges,
            Named::InDegrees => Program::InDegrees,
            Named::OutDegrees => Program::OutDegrees,
            Named::Katz { base, hops } => Program::Katz { base: *base, hops: *hops },
            Named::Pagerank { damping, hops } => {
                Program::Pagerank { damping: *damping, hops: *hops }
            }
        })
    }

    fn reader(&self, creator: &[u8; 32]) -> Option<ReaderKey> {
        self.for_me.then(|| ReaderKey(asked::reader(creator).public()))
    }
}

impl Asking {
    fn terms(&self, creator: &[u8; 32]) -> Result<Terms> {
        let names = match &self.names {
            Some(text) => Names::read(text).map_err(sentence)?,
            None => Names::numbers(self.vertices),
        };
        let named = self.names.is_some();
        Ok(Terms {
            vertices: u32::try_from(names.len()).map_err(sentence)?,
            naming: if named { Naming::of(&names) } else { Naming::Numbers },
            edges: self.edges,
            undirected: self.undirected,
            weighted: self.weighted,
            program: self.wanted.program(&names)?,
            shown: self.wanted.shown,
            noise: self.wanted.noise,
            reader: self.wanted.reader(creator),
            keep: self.keep,
        })
    }
}

/// A draft of what somebody wants to ask this committee; `creator` is the secret of a fresh key.
pub fn ask(committee: &str, asking: &str, creator: &[u8; 32]) -> Result<String> {
    let committee: Committee = serde_json::from_str(committee).map_err(sentence)?;
    committee.validate().map_err(sentence)?;
    asked::members(&committee).map_err(sentence)?;
    let asking: Asking = serde_json::from_str(asking).map_err(sentence)?;
    let terms = asking.terms(creator)?;
    let owners = asking.invited.as_ref().map_or(asking.minimum as usize, Vec::len);
    terms.validate(owners).map_err(sentence)?;
    let key = SigningKey::from_seed(creator);
    let draft = Draft {
        committee: committee.digest(),
        job: asked::JOB.to_owned(),
        parameters: asked::parameters(&terms),
        title: asking.text,
        minimum: asking.minimum,
        contributors: asking.invited.map_or(Contributors::Anyone, |k| k.into_iter().collect()),
        closes: asking.closes,
        creator: key.verifying_key(),
        nonce: random()?,
    };
    signed(draft, &terms, &key)
}

/// A draft with its creator's signature, for the page.
fn signed(draft: Draft, terms: &Terms, creator: &SigningKey) -> Result<String> {
    draft.validate().map_err(sentence)?;
    let named_elsewhere = matches!(terms.naming, Naming::File(_));
    let (id, committee) = (draft.id(), draft.committee.to_hex());
    let draft = draft.sign(creator);
    serde_json::to_string(&Asked { id, committee, draft, named_elsewhere }).map_err(sentence)
}

/// What an owner is asked.
#[derive(Serialize)]
struct Read<'a> {
    text: &'a str,
    vertices: u32,
    edges: u32,
    undirected: bool,
    weighted: bool,
    program: &'a Program,
    shown: Shown,
    noise: Option<Noise>,
    minimum: u32,
    closes: Option<u64>,
    anyone: bool,
    creator: VerifyingKey,
    /// Whether the names stand in a file that is needed.
    named_elsewhere: bool,
    /// Bytes that go to each server.
    bytes: usize,
    /// The names of the vertices from which distances are counted, as far as they are known.
    from: Vec<String>,
    /// Whether only who asked can read the result.
    for_reader: bool,
    /// For what contributions are kept; none if for nothing.
    keep: Option<Keep>,
    /// Whether it is about what was contributed to an earlier question.
    earlier: bool,
    /// How many processors scatter and gather have, if that is how it is computed.
    processors: Option<u32>,
}

/// How far a file is read.
#[derive(Serialize)]
struct Told {
    edges: usize,
    wrong: usize,
}

#[derive(Serialize)]
struct Checked {
    edges: usize,
    wrong: usize,
    errors: Vec<String>,
}

#[derive(Serialize)]
struct Proven {
    contributors: u64,
    out: usize,
    missing: u32,
    /// How many vertices have which value.
    counts: Option<Vec<(Option<u64>, u64)>>,
    /// The one number that came out, if it is one.
    total: Option<u64>,
    /// The vertices with the highest values, by name, or the largest components by their smallest
    /// vertices, and their sizes; none where only counts are shown.
    top: Vec<(String, u64)>,
    /// Whether there is a result that only who asked can read, and this is somebody else.
    closed: bool,
    /// Members that have sealed other values for who asked than they have signed for.
    liars: Vec<usize>,
}

impl AskedGraph {
    pub fn new(committee: &str, digest: Option<&str>, view: &str, id: &str) -> Result<Self> {
        let committee: Committee = serde_json::from_str(committee).map_err(sentence)?;
        committee.validate().map_err(sentence)?;
        let own = committee.digest();
        if digest.is_some_and(|digest| digest != own.to_hex()) {
            return Err("this server is of another committee than the link's".into());
        }
        let View { draft } = serde_json::from_str(view).map_err(sentence)?;
        draft.verify(&own).map_err(sentence)?;
        let draft = draft.draft;
        let computation = draft.id();
        if computation.0.to_hex() != id {
            return Err("this server shows something else than the link's".into());
        }
        asked::members(&committee).map_err(sentence)?;
        let terms = asked::terms(&draft).map_err(sentence)?;
        let names = match &terms.naming {
            Naming::Numbers => Some(Names::numbers(terms.vertices)),
            Naming::Names(list) => {
                Some(Names::of(list.iter().map(String::as_str)).map_err(sentence)?)
            }
            Naming::File(_) => None,
        };
        let reading = Reading::of(terms.program.third(terms.weighted));
        Ok(Self { committee, digest: own, draft, computation, terms, names, reading })
    }

    pub fn read(&self) -> Result<String> {
        let Terms { vertices, edges, undirected, weighted, program, shown, noise, .. } =
            &self.terms;
        let list = self.names.as_ref().map(Names::list);
        let from = program.from();
        let from = match list {
            Some(list) => from.iter().map(|vertex| list[*vertex as usize].clone()).collect(),
            None => Vec::new(),
        };
        let read = Read {
            text: &self.draft.title,
            vertices: *vertices,
            edges: *edges,
            undirected: *undirected,
            weighted: *weighted,
            program,
            shown: *shown,
            noise: *noise,
            minimum: self.draft.minimum,
            closes: self.draft.closes,
            anyone: self.draft.contributors == Contributors::Anyone,
            creator: self.draft.creator,
            named_elsewhere: self.names.is_none(),
            bytes: asked::Contribution::bytes(&self.terms),
            from,
            for_reader: self.terms.reader.is_some(),
            keep: self.terms.keep,
            earlier: self.draft.earlier().is_some(),
            processors: program.processors(),
        };
        serde_json::to_string(&read).map_err(sentence)
    }

    /// Another question of who asked this one, about the contributions that are kept. How many
    /// there are the members know, and so judge the rest.
    pub fn further(&self, further: &str, creator: &[u8; 32]) -> Result<String> {
        let further: Further = serde_json::from_str(further).map_err(sentence)?;
        let names = self.names.as_ref().ok_or("the vertices' names are needed first")?;
        let terms = Terms {
            program: further.wanted.program(names)?,
            shown: further.wanted.shown,
            noise: further.wanted.noise,
            reader: further.wanted.reader(creator),
            keep: None,
            ..self.terms.clone()
        };
        let lists = self.draft.minimum as usize;
        terms.validate_again(&self.terms, lists).map_err(sentence)?;
        let draft = Draft {
            parameters: asked::parameters(&terms),
            title: further.text,
            contributors: Contributors::Earlier(self.computation),
            closes: None,
            nonce: random()?,
            ..self.draft.clone()
        };
        signed(draft, &terms, &SigningKey::from_seed(creator))
    }

    pub fn has_vertex(&self, name: &str) -> bool {
        self.names.as_ref().is_some_and(|names| names.vertex(name).is_some())
    }

    pub fn name(&mut self, text: &str) -> Result<()> {
        let names = Names::read(text).map_err(sentence)?;
        let Naming::File(digest) = &self.terms.naming else { return Ok(()) };
        if names.digest() != *digest || names.len() != self.terms.vertices as usize {
            return Err("these are other names than those of whoever asked".into());
        }
        self.names = Some(names);
        Ok(())
    }

    pub fn begin(&mut self) {
        self.reading = Reading::of(self.terms.program.third(self.terms.weighted));
    }

    pub fn take(&mut self, piece: &str) -> Result<String> {
        let names = self.names.as_ref().ok_or("the vertices' names are needed first")?;
        self.reading.take(names, piece);
        if self.reading.len() > self.terms.edges as usize {
            return Err(format!(
                "the file has more than the {} edges that one contributor may have",
                self.terms.edges
            ));
        }
        let told = Told { edges: self.reading.len(), wrong: self.reading.wrong() };
        serde_json::to_string(&told).map_err(sentence)
    }

    pub fn end(&mut self) -> Result<String> {
        let names = self.names.as_ref().ok_or("the vertices' names are needed first")?;
        // What was read stays, until it is contributed or another file is read.
        self.reading.finish(names);
        let checked = Checked {
            edges: self.reading.len(),
            wrong: self.reading.wrong(),
            errors: self.reading.errors().iter().map(ToString::to_string).collect(),
        };
        serde_json::to_string(&checked).map_err(sentence)
    }

    pub fn contribution(&mut self, owner: &SigningKey) -> Result<Vec<u8>> {
        let names = self.names.as_ref().ok_or("the vertices' names are needed first")?;
        let (edges, errors) = std::mem::take(&mut self.reading).end(names);
        if edges.is_empty() || !errors.is_empty() {
            return Err("the file has no edges, or bad lines".into());
        }
        let members = asked::members(&self.committee).map_err(sentence)?;
        let randomness = Secret::new(random()?);
        let input =
            asked::make(&self.computation, &self.terms, &members, &edges, owner, &randomness);
        Ok(input.map_err(sentence)?.encode())
    }

    pub fn admits(&self, owner: &SigningKey) -> bool {
        self.draft.admits(&owner.verifying_key())
    }

    pub fn is_receipt(&self, contribution: &[u8], member: usize, answer: &str) -> bool {
        let Some(input) = Input::decode(contribution) else { return false };
        is_receipt_of(&self.committee, &self.computation, &input, member, answer)
    }

    pub fn order(&self, creator: &SigningKey) -> String {
        let order = Order::sign(self.computation, creator);
        serde_json::to_string(&order).unwrap_or_default()
    }

    pub fn cancellation(&self, creator: &SigningKey) -> String {
        let cancellation = Cancellation::sign(self.computation, creator);
        serde_json::to_string(&cancellation).unwrap_or_default()
    }

    pub fn heard(&self, statements: &[String]) -> Result<String> {
        heard(&self.committee, &self.draft, statements)
    }

    /// `creator` is the key of who asked, where it is kept.
    pub fn verify(&self, archive: &str, top: usize, creator: Option<&[u8; 32]>) -> Result<String> {
        let Published { archive } = serde_json::from_str(archive).map_err(sentence)?;
        archive.verify_as(&self.computation, &self.digest).map_err(sentence)?;
        let mut result = asked::result(&archive).map_err(sentence)?;
        let mut liars = Vec::new();
        if let (Some(result), Some(creator)) = (&mut result, creator) {
            let key = asked::reader(creator);
            let opened = result.values.clone().opened(&self.computation, &self.terms, &key);
            (result.values, liars) = opened.map_err(sentence)?;
        }
        let excluded = result.as_ref().map_or(0, |result| result.excluded.len());
        let held = archive.seal.inputs.len() as u64;
        let shown = result.as_ref().filter(|of| !matches!(of.values, Values::Closed(_)));
        let proven = Proven {
            contributors: result.as_ref().map_or(held, |result| result.accepted),
            out: archive.seal.conflicts.len() + archive.seal.unsound.len() + excluded,
            missing: archive.seal.missing(&archive.draft.draft),
            counts: shown.map(|result| result.values.pictured(&self.terms.program)),
            total: shown.and_then(|result| match result.values {
                Values::Total(total) => Some(total),
                _ => None,
            }),
            top: shown.map_or_else(Vec::new, |result| self.highest(&result.values, top)),
            closed: result.is_some() && shown.is_none(),
            liars,
        };
        serde_json::to_string(&proven).map_err(sentence)
    }

    fn highest(&self, values: &Values, top: usize) -> Vec<(String, u64)> {
        let numbers = || Names::numbers(self.terms.vertices).list();
        let names = self.names.as_ref().map_or_else(numbers, Names::list);
        if let Program::Components { .. } = self.terms.program {
            let largest = values.components().into_iter().take(top);
            return largest.filter_map(|(of, size)| Some((names.get(of)?.clone(), size))).collect();
        }
        let Values::Vertices(values) = values else { return Vec::new() };
        let mut all: Vec<(String, u64)> =
            names.into_iter().zip(values).filter_map(|(name, v)| Some((name, (*v)?))).collect();
        all.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
        all.truncate(top);
        all
    }
}

/// The job of the draft in a member's view.
pub fn job(view: &str) -> Result<String> {
    let View { draft } = serde_json::from_str(view).map_err(sentence)?;
    Ok(draft.draft.job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_computation::{Card, Said, ShareKey, Statement};
    use ostrakon_crypto::sealed::ExchangeKey;
    use ostrakon_graph::asked::{Contribution, JOB, parameters};

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn committee() -> Committee {
        let card = |m: u8| {
            let seeds = ExchangeKey::new(&Secret::new([m; 32]));
            let share_key = ShareKey::new(&[m; 192], &seeds.public());
            let (url, mesh) = (format!("http://m{m}"), format!("m{m}:1"));
            Card::sign(&format!("m{m}"), &url, &mesh, share_key, &key(m))
        };
        Committee::found("test", (1..4).map(card).collect()).unwrap()
    }

    #[test]
    fn what_is_asked_on_the_page_is_what_contributors_read() {
        let committee = serde_json::to_string(&committee()).unwrap();
        let asking = serde_json::json!({
            "text": "Who knows whom?", "names": "anna\nben\ncarl\n", "vertices": 0, "edges": 4,
            "undirected": true, "program": { "distances": { "from": ["ben"], "hops": 2 } },
            "shown": "vertices", "for_me": true, "minimum": 2, "closes": null, "invited": null,
        });
        let asked = ask(&committee, &asking.to_string(), &[9; 32]).unwrap();
        let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
        let view = serde_json::json!({ "draft": asked["draft"] }).to_string();
        let id = asked["id"].as_str().unwrap();
        let graph = AskedGraph::new(&committee, asked["committee"].as_str(), &view, id).unwrap();
        assert_eq!(graph.terms.reader, Some(ReaderKey(asked::reader(&[9; 32]).public())));
        let read: serde_json::Value = serde_json::from_str(&graph.read().unwrap()).unwrap();
        assert_eq!((&read["from"][0], &read["for_reader"]), (&"ben".into(), &true.into()));
        assert_eq!(read["keep"], serde_json::Value::Null, "erased unless asked for otherwise");
        let unknown = asking.to_string().replace("[\"ben\"]", "[\"dora\"]");
        assert!(ask(&committee, &unknown, &[9; 32]).unwrap_err().contains("no vertex \"dora\""));
    }

    #[test]
    fn who_asked_asks_again_about_what_is_kept_and_about_lists_like_those_only() {
        let committee = serde_json::to_string(&committee()).unwrap();
        let asking = serde_json::json!({
            "text": "Who knows whom?", "names": "anna\nben\ncarl\n", "vertices": 0, "edges": 4,
            "undirected": false, "program": "edges", "shown": "counts", "for_me": false,
            "keep": { "questions": 3, "days": 7 }, "minimum": 2, "closes": null, "invited": null,
        });
        let asked = ask(&committee, &asking.to_string(), &[9; 32]).unwrap();
        let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
        let open = |asked: &serde_json::Value| {
            let view = serde_json::json!({ "draft": asked["draft"] }).to_string();
            AskedGraph::new(&committee, None, &view, asked["id"].as_str().unwrap()).unwrap()
        };
        let first = open(&asked);
        assert_eq!(first.terms.keep, Some(Keep { questions: 3, days: 7 }));
        let further = |program: serde_json::Value| {
            let further = serde_json::json!({
                "text": "Who is near?", "program": program, "shown": "vertices", "for_me": true,
            });
            first.further(&further.to_string(), &[9; 32])
        };
        let reach = serde_json::json!({ "reach": { "from": ["ben"], "hops": 2 } });
        let second = open(&serde_json::from_str(&further(reach).unwrap()).unwrap());
        assert_eq!(second.draft.earlier(), Some(&first.computation));
        assert_eq!(second.draft.creator, first.draft.creator);
        assert_eq!((second.draft.minimum, second.draft.title.as_str()), (2, "Who is near?"));
        assert_eq!((second.terms.keep, second.terms.edges), (None, 4));
        assert_eq!(second.terms.reader, Some(ReaderKey(asked::reader(&[9; 32]).public())));
        // Lists of lengths have other rows.
        let shortest =
            serde_json::json!({ "shortest": { "from": ["ben"], "within": 4, "longest": 4 } });
        assert!(further(shortest).unwrap_err().contains("lists like those of the first one"));
    }

    #[test]
    fn a_file_is_read_in_pieces_checked_and_contributed() {
        let committee = committee();
        let terms = Terms {
            vertices: 3,
            naming: Naming::Names(["anna", "ben", "carl"].map(str::to_owned).to_vec()),
            edges: 4,
            undirected: false,
            weighted: false,
            program: Program::Distances { from: vec![1], hops: 2, processors: None },
            shown: Shown::Vertices,
            noise: None,
            reader: None,
            keep: Some(Keep { questions: 2, days: 7 }),
        };
        let draft = Draft {
            committee: committee.digest(),
            job: JOB.into(),
            parameters: parameters(&terms),
            title: "Who knows whom?".into(),
            minimum: 2,
            contributors: Contributors::Anyone,
            closes: None,
            creator: key(9).verifying_key(),
            nonce: [1; 16],
        };
        let id = draft.id().0.to_hex();
        let view = serde_json::json!({ "draft": draft.sign(&key(9)) }).to_string();
        assert_eq!(job(&view).as_deref(), Ok(JOB));
        let text = serde_json::to_string(&committee).unwrap();
        assert!(AskedGraph::new(&text, None, &view, &"0".repeat(64)).is_err(), "another link");
        let mut graph = AskedGraph::new(&text, None, &view, &id).unwrap();
        let read: serde_json::Value = serde_json::from_str(&graph.read().unwrap()).unwrap();
        assert_eq!((&read["from"][0], &read["named_elsewhere"]), (&"ben".into(), &false.into()));
        for piece in ["anna,b", "en\nanna,dora\n", "ben,carl"] {
            graph.take(piece).unwrap();
        }
        let checked: serde_json::Value = serde_json::from_str(&graph.end().unwrap()).unwrap();
        assert_eq!((&checked["edges"], &checked["wrong"]), (&2.into(), &1.into()));
        assert!(checked["errors"][0].as_str().unwrap().starts_with("line 2"), "{checked}");
        assert!(graph.contribution(&key(5)).is_err(), "with a bad line");
        graph.begin();
        graph.take("anna,ben\nben,carl\n").unwrap();
        let bytes = graph.contribution(&key(5)).unwrap();
        let input = Input::decode(&bytes).unwrap();
        assert!(Contribution::read(&input.body, &terms).is_ok());
        let said = Said::Receipt { contributor: input.entry.contributor, body: input.entry.body };
        let receipt = Statement::sign(graph.computation, said, &key(1));
        let receipt = serde_json::to_string(&receipt).unwrap();
        assert!(graph.is_receipt(&bytes, 0, &receipt));
        assert!(!graph.is_receipt(&bytes, 1, &receipt), "another member's");
        graph.begin();
        assert!(graph.take(&"anna,ben\n".repeat(5)).is_err(), "too many edges");
    }
}
