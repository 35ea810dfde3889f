//! What an epoch ends with by the marks of a server that starts again: the table of
//! `docs/spec/ruffle.md` (10.17), row by row, in both modes.

use super::*;

/// Who lies, where somebody does. So P1 is trusted if need be, and P2 is its helper.
const LIAR: u8 = 0;
const HONEST: [u8; 2] = [1, 2];
/// The slot whose submission some servers do not have.
const LACKED: u32 = 2;

/// How an epoch ends at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Opened,
    Trusted,
    Stopped,
    TooFew,
    Waits,
}

use End::{Opened, Stopped, TooFew, Trusted, Waits};

/// A row of the table, and what is shown to the servers after the restart.
struct Row {
    /// The row's marks, and what happens then.
    name: &'static str,
    /// What is on P2's record when it starts again, as far as the row says.
    marks: &'static [&'static str],
    /// One that all submissions meet, or one that they miss.
    minimum: u32,
    /// Who lacks a submission before the restart, and who after it.
    lack: [&'static [u8]; 2],
    /// Whether its participant has signed two, of which P1 has the other one.
    twice: bool,
    /// The life before.
    before: fn(&Scene, &Row),
    /// What the life after is like.
    after: fn(&Scene) -> Network,
    /// How the honest servers may end, in fair and in robust mode; one end only where the table
    /// names one.
    ends: [&'static [End]; 2],
}

/// What is not said otherwise: everybody is honest, all have everything, and that is enough.
const HONESTLY: Row = Row {
    name: "none",
    marks: &[],
    minimum: MET,
    lack: [&[], &[]],
    twice: false,
    before: |_, _| (),
    after: |_| Network::default(),
    ends: [&[Opened], &[Opened]],
};

const MET: u32 = 1;
const MISSED: u32 = 3;

const ROWS: &[Row] = &[
    HONESTLY,
    Row { name: "none, too few", minimum: MISSED, ends: [&[TooFew]; 2], ..HONESTLY },
    Row {
        name: "lists",
        marks: &["heard 0301"],
        twice: true,
        before: |scene, row| scene.until(&Network::default(), row, Kind::ConflictDetails),
        ..HONESTLY
    },
    Row {
        name: "lists, too few",
        marks: &["heard 0301"],
        minimum: MISSED,
        twice: true,
        before: |scene, row| scene.until(&Network::default(), row, Kind::ConflictDetails),
        ends: [&[TooFew]; 2],
        ..HONESTLY
    },
    Row {
        name: "seal: too few",
        marks: &["sealed"],
        minimum: MISSED,
        before: |scene, _| drop(scene.run(&Network::default())),
        ends: [&[TooFew]; 2],
        ..HONESTLY
    },
    Row {
        name: "seal: too few, and then a fault",
        marks: &["sealed"],
        minimum: MISSED,
        before: |scene, _| drop(scene.run(&Network::default())),
        after: garbled_echoes,
        ends: [&[TooFew]; 2],
        ..HONESTLY
    },
    Row {
        name: "seal: nothing, with the fault",
        marks: &["sealed"],
        before: |scene, row| scene.until(&garbled_echoes(scene), row, Kind::SealStanding),
        ends: [&[Stopped], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "seal: nothing, and T2 finds too few",
        marks: &["sealed"],
        minimum: MISSED,
        before: |scene, row| scene.until(&garbled_echoes(scene), row, Kind::SealStanding),
        ends: [&[Stopped], &[TooFew]],
        ..HONESTLY
    },
    Row {
        name: "seal: a list",
        marks: &["sealed"],
        before: |scene, row| scene.until(&Network::default(), row, Kind::SealVote),
        ..HONESTLY
    },
    Row {
        name: "seal: a list, and another one of the liar now",
        marks: &["sealed"],
        lack: [&[], &[LIAR]],
        before: |scene, row| scene.until(&Network::default(), row, Kind::SealVote),
        ends: [&[Stopped], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "seal: a list, and then a fault",
        marks: &["sealed"],
        before: |scene, row| scene.until(&Network::default(), row, Kind::SealVote),
        after: |scene| lie(scene, Kind::Pads),
        ends: [&[Stopped], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "outcome: stopped",
        marks: &["outcome"],
        before: |scene, row| scene.until(&lie(scene, Kind::Pads), row, Kind::Accusation),
        ends: [&[Stopped], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "outcome: disputed",
        marks: &["outcome"],
        before: |scene, row| scene.until(&lie(scene, Kind::Delta01), row, Kind::Dispute),
        ends: [&[Stopped], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "outcome: ready",
        marks: &["outcome"],
        before: |scene, row| scene.until(&Network::default(), row, Kind::Ready),
        ..HONESTLY
    },
    Row {
        name: "outcome: ready, P1 has opened, and P2 is shown a fault",
        marks: &["outcome"],
        before: |scene, _| scene.run_until(&Network::default(), PartyId(2), Kind::Ready),
        after: |scene| lie(scene, Kind::Delta01),
        ends: [&[Opened, Waits]; 2],
        ..HONESTLY
    },
    Row {
        name: "outcome: ready, and both stop together",
        marks: &["outcome"],
        before: |scene, row| scene.until(&Network::default(), row, Kind::Ready),
        after: |scene| lie(scene, Kind::Pads),
        ends: [&[Stopped], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "certificate: the votes",
        marks: &["outcome", "certificate"],
        before: |scene, _| drop(scene.run(&Network::default())),
        ..HONESTLY
    },
    Row {
        name: "certificate: the votes, and a false table",
        marks: &["outcome", "certificate"],
        before: |scene, _| drop(scene.run(&Network::default())),
        after: |scene| lie(scene, Kind::Delta01),
        ends: [&[Opened, Waits]; 2],
        ..HONESTLY
    },
    Row {
        name: "certificate: a fault",
        marks: &["outcome", "certificate"],
        before: |scene, row| {
            scene.until(&Network::default(), row, Kind::Ready);
            scene.until(&lie(scene, Kind::Pads), row, Kind::Accusation);
        },
        ends: [&[Opened, Stopped], &[Opened, Trusted]],
        ..HONESTLY
    },
    Row {
        name: "list of T2",
        marks: &["sealed", "trusted slots"],
        before: |scene, row| scene.until(&garbled_echoes(scene), row, Kind::TrustedMasks),
        ends: [&[], &[Trusted]],
        ..HONESTLY
    },
    Row {
        name: "list of T2, and another one now",
        marks: &["sealed", "trusted slots"],
        lack: [&[], &HONEST],
        before: |scene, row| scene.until(&garbled_echoes(scene), row, Kind::TrustedMasks),
        ends: [&[], &[Waits]],
        ..HONESTLY
    },
    Row {
        name: "list of T2, too short, of which P2 has not heard",
        marks: &["sealed"],
        minimum: MISSED,
        before: |scene, _| {
            scene.run_until(&garbled_echoes(scene), PartyId(2), Kind::TrustedSubmissions);
        },
        ends: [&[], &[TooFew]],
        ..HONESTLY
    },
    Row {
        name: "list of T2, too short",
        marks: &["sealed", "trusted slots"],
        minimum: MISSED,
        before: |scene, _| drop(scene.run(&garbled_echoes(scene))),
        ends: [&[], &[TooFew]],
        ..HONESTLY
    },
];

/// All of the liar's echoes of lists are garbled: a fault before anything is sealed.
fn garbled_echoes(scene: &Scene) -> Network {
    let echo = Kind::SubmissionList.echo();
    scene.corrupt(LIAR, move |_, m| (m.signed.header.tag.step == echo).then(|| vec![0xff; 7]))
}

/// One of the liar's messages is false.
fn lie(scene: &Scene, kind: Kind) -> Network {
    scene.corrupt(LIAR, move |_, m| is(m, kind).then(|| flipped(m)))
}

impl Scene {
    /// What a server has in a row's life: the one before the restart, or the one after it.
    fn held(&self, row: &Row, life: usize, server: PartyId) -> Option<Vec<Slot>> {
        let mut slots = self.slots.clone();
        let slot = slots.iter_mut().find(|slot| slot.slot == LACKED).expect("it is given out");
        if row.lack[life].contains(&server.0) {
            slot.submission = None;
        }
        if row.twice && server == PartyId(1) {
            let key = participant(LACKED);
            let text = self::row(77, WIDTH as usize);
            let second = self.deployment.submission(&self.stock, &self.spec, LACKED, &text, &key);
            slot.submission = Some(second);
        }
        Some(slots)
    }

    /// A life of a row before the restart: all are lost as soon as P2 has posted something.
    fn until(&self, network: &Network, row: &Row, kind: Kind) {
        let is_over = |_| posted(network, PartyId(2), kind).is_some();
        self.live(network, is_over, |server| self.held(row, 0, server));
    }

    fn has_marked(&self, server: u8, name: &str) -> bool {
        let marks = self.marks[usize::from(server)].0.lock().unwrap();
        marks.keys().any(|known| known.ends_with(name))
    }
}

fn ended(result: Option<&Result<super::Opened, Unmixed>>) -> End {
    match result {
        None => Waits,
        Some(Ok(opened)) => {
            let rows = recognised(&opened.table, &rows_of(TAKEN, WIDTH));
            // Of two rows of one slot neither counts.
            assert!(rows == TAKEN || rows == [0, 1, 4], "{rows:?}");
            if opened.trusted.is_some() { Trusted } else { Opened }
        }
        Some(Err(Unmixed::TooFew(count))) if *count < MISSED => TooFew,
        Some(Err(Unmixed::Fault(fault))) => {
            assert_eq!(fault.culprit, PartyId(LIAR));
            Stopped
        }
        Some(Err(other)) => panic!("{other}"),
    }
}

#[test]
fn every_row_of_the_table_of_marks_ends_as_it_says() {
    for row in ROWS {
        for (robust, ends) in [false, true].into_iter().zip(row.ends) {
            // Where a mode has no such marks there is nothing to try.
            if ends.is_empty() {
                continue;
            }
            let case = format!("{} (robust: {robust})", row.name);
            let mut scene = Scene::new(71, robust);
            scene.spec.minimum = row.minimum;
            scene.slots = scene.deployment.slots(&scene.stock, &scene.spec, &rows_of(TAKEN, WIDTH));
            (row.before)(&scene, row);
            for mark in row.marks {
                assert!(scene.has_marked(2, mark), "{case}: P2 has not come to \"{mark}\"");
            }
            let network = (row.after)(&scene);
            let results = scene.live(&network, |_| false, |server| scene.held(row, 1, server));
            let found = HONEST.map(|server| ended(results[usize::from(server)].as_ref()));
            assert!(found.iter().all(|end| ends.contains(end)), "{case}: {found:?}");
            // Where the table leaves two ends they end alike, or one has opened and one waits.
            let alike = found[0] == found[1];
            let opened = found.iter().all(|end| [Opened, Waits].contains(end));
            assert!(alike || opened, "{case}: {found:?}");
        }
    }
}

/// Nobody knows whom it has reached before the restart: who comes to T0 later hears it anyhow.
#[test]
fn too_few_is_said_again_at_once_by_whoever_is_there_alone() {
    for (robust, kind) in [
        (false, Kind::SealStanding),
        (true, Kind::SealStanding),
        // At T2.
        (true, Kind::TrustedSlots),
    ] {
        let mut scene = Scene::new(72, robust);
        scene.spec.minimum = MISSED;
        scene.slots = scene.deployment.slots(&scene.stock, &scene.spec, &rows_of(TAKEN, WIDTH));
        let among_two = kind == Kind::TrustedSlots;
        let before = if among_two { garbled_echoes(&scene) } else { Network::default() };
        scene.run(&before);
        for server in HONEST {
            let network = Network::default();
            let alone = |id: PartyId| (id.0 == server).then(|| scene.slots.clone());
            let results = scene.live(&network, |_| false, alone);
            assert_eq!(ended(results[usize::from(server)].as_ref()), TooFew, "P{server}");
            let said = posted(&network, PartyId(server), kind);
            assert!(said.is_some(), "P{server} says nothing (robust: {robust}, {kind:?})");
        }
    }
}
