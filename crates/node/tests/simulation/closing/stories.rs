//! What groups of one to thirty people see with the settings that the page's form proposes for
//! them, and how long what they write takes to the wall (`docs/spec/rooms.md`, section 10).

use ostrakon_testkit::nightly;
use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use ostrakon_mixing::room::{more_needed, people_for};
use ostrakon_party::{PartyId, Trust};

use super::{Scene, inside};

/// Seconds of an epoch that the form proposes, for a talk.
const SECONDS: u32 = 6;
/// Bytes of a row's payload: a message of 254 bytes.
const PAYLOAD: u32 = 256;

/// What the form makes of the number of people that are expected, as `roomFor` in
/// `web/src/lib/rooms/seen/crowd.ts` does: the minimum and the places.
fn room_for(people: u32) -> (u32, u32) {
    let enough = (people * 6).div_ceil(10).clamp(3, 8);
    let mut capacity = 24;
    while capacity < 2 * people {
        capacity *= 2;
    }
    (enough - enough.div_ceil(3), capacity)
}

/// What came of a group.
struct Story {
    /// From the first person's coming to the first entry, in milliseconds.
    first: Option<u64>,
    /// From writing to the wall, in milliseconds, ascending.
    waits: Vec<u64>,
    /// From one entry to the next, on the average, in milliseconds.
    pace: Option<u64>,
    /// Messages that are not there in the end.
    lost: usize,
    /// How many more people the room said it needs.
    needed: u32,
}

impl Story {
    fn median(&self) -> Option<u64> {
        self.waits.get(self.waits.len() / 2).copied()
    }
}

impl Scene {
    /// What was said in the entries from `from` on, at P0.
    fn texts(&self, from: u64) -> (u64, Vec<String>) {
        let room = self.room.id();
        let asked = self.deployment.call(PartyId(0), |server| {
            async move { server.board(room, from, Duration::ZERO).await }.boxed()
        });
        let Some(Ok(page)) = asked else { return (from, Vec::new()) };
        let texts = page.entries.iter().flat_map(|signed| signed.entry.bodies());
        let texts = texts.map(|body| String::from_utf8_lossy(body).into_owned()).collect();
        (from + page.entries.len() as u64, texts)
    }
}

/// As many people come within ten seconds, and each writes something every twenty seconds or so,
/// for two minutes.
fn tell(seed: u64, people: u32, expected: u32) -> Story {
    let (minimum, capacity) = room_for(expected);
    let scene = Scene::with(seed, (SECONDS, minimum, capacity, PAYLOAD));
    let executor = &scene.deployment.executor;
    let draw = |low, high| executor.draw(|random| random.within(low, high));
    let begun = executor.now_ms();
    let mut coming: Vec<u64> = (0..people).map(|_| begun + draw(0, 10_000)).collect();
    coming.sort_unstable();
    let mut devices = Vec::new();
    let mut writes: Vec<u64> = coming.iter().map(|at| at + draw(1_000, 20_000)).collect();
    let (mut read, mut written) = (0, BTreeMap::new());
    let mut story = Story { first: None, waits: Vec::new(), pace: None, lost: 0, needed: 0 };
    while executor.now_ms() < begun + 160_000 {
        let now = executor.now_ms();
        while devices.len() < coming.len() && coming[devices.len()] <= now {
            devices.push(scene.enter(devices.len() as u8));
        }
        for (number, device) in devices.iter().enumerate() {
            if writes[number] <= now && now < begun + 130_000 {
                let text = format!("{number} at {now}");
                written.insert(text.clone(), now);
                device.lock().unwrap().wishes.push(text);
                writes[number] = now + draw(15_000, 25_000);
            }
        }
        let (length, texts) = scene.texts(read);
        if length > read {
            let first = *story.first.get_or_insert(now - begun);
            story.pace = (now - begun - first).checked_div(length - 1);
        }
        read = length;
        story.waits.extend(texts.iter().filter_map(|text| Some(now - written.remove(text)?)));
        executor.run_for(Duration::from_millis(100));
    }
    story.waits.sort_unstable();
    story.lost = written.len();
    let status = scene.statuses().remove(0);
    story.needed = more_needed(&status.places, status.minimum, &Trust::one_of_three());
    scene.deployment.end();
    story
}

/// The first group of a room waits for company; from three people on what is written is on the wall
/// within seconds.
#[test]
fn what_groups_of_any_size_see_with_the_settings_of_the_form() {
    inside(|| {
        // Thirty people for two minutes take minutes to simulate.
        let sizes: &[u32] = if nightly() { &[1, 2, 3, 5, 8, 30] } else { &[1, 3] };
        for people in sizes.iter().copied() {
            let story = tell(u64::from(people), people, people);
            let (median, worst) = (story.median(), story.waits.last().copied());
            println!(
                "{people} people, minimum {:?}: first entry after {:?} ms, median {median:?} ms, worst {worst:?} ms, {} messages, {} missing",
                room_for(people).0,
                story.first,
                story.waits.len(),
                story.lost
            );
            if people < 3 {
                assert_eq!((story.first, story.waits.len()), (None, 0), "nobody is exposed");
                assert_eq!(story.needed, 3 - people, "and it is said how many are missing");
                continue;
            }
            assert_eq!(story.lost, 0, "{people} people: what is written comes out");
            assert!(median.is_some_and(|median| median <= 8_000), "{people} people: {median:?}");
            assert!(worst.is_some_and(|worst| worst <= 15_000), "{people} people: {worst:?}");
            // The times that hosts can give people for a poll are counted in epochs.
            let epoch = u64::from(SECONDS) * 1000;
            let pace = story.pace.is_some_and(|pace| (epoch..=epoch * 11 / 10).contains(&pace));
            assert!(pace, "an epoch of {epoch} ms took {:?} ms", story.pace);
        }
    });
}

/// Of thirty who were expected, as many as the form says are enough do not wait for the others.
#[test]
fn a_group_need_not_be_complete() {
    if !nightly() {
        return;
    }
    inside(|| {
        let enough = people_for(room_for(30).0, &Trust::one_of_three());
        let story = tell(8, enough, 30);
        assert_eq!((enough, story.lost), (8, 0));
        assert!(story.median().is_some_and(|median| median <= 8_000), "{:?}", story.median());
    });
}
