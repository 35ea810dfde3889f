//! A room for members, at processes that know of its host's actions by the database only.

use ostrakon_broadcast::hosting::{Claim, Deed, HostLog};
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::link::Link;
use ostrakon_mixing::room::Admission;
use ostrakon_protocol::{NewRoom, RoomInfo, parse_room};

use super::fleet::{Fleet, INTAKES};
use crate::common::now;
use crate::common::rogue::{Rogue, answer};
use crate::common::servers::PAUSE;

/// Seeds of the members' keys, one for each server that they are at home at, and of somebody
/// else's. The last member has a link.
const MEMBERS: [u8; 3] = [41, 42, 43];
const INVITED: usize = 2;
const STRANGER: u8 = 44;
/// The seed of the key in the link.
const LINK: u8 = 45;

pub async fn take_part_at_the_intakes_and_nobody_else_does(fleet: &Fleet) {
    let host = SigningKey::from_seed(&[40; 32]);
    let links = room(fleet, &host).await;
    let mut members = Vec::new();
    for (n, seed) in MEMBERS.into_iter().enumerate() {
        // Each talks to other processes than the one before.
        members.push(Rogue::new(&at_intakes(fleet, &links, n), seed).await);
    }
    for (n, member) in members.iter().enumerate() {
        assert_eq!(presence(member, n).await, 403, "nobody is admitted yet");
    }
    admit(fleet, &members[0], &host).await;
    claim(fleet, &members[INVITED], &links).await;
    for (n, member) in members.iter().enumerate() {
        let admitted = async {
            while presence(member, n).await != 200 {
                tokio::time::sleep(PAUSE).await;
            }
        };
        fleet.servers.in_time("an intake process learns of the admission", admitted).await;
    }
    say(&members).await;
    for (which, seed) in (0..INTAKES).flat_map(|which| [(which, STRANGER), (which, LINK)]) {
        let stranger = Rogue::new(&at_intakes(fleet, &links, which), seed).await;
        for n in 0..3 {
            assert_eq!(
                presence(&stranger, n).await,
                403,
                "key {seed} at intake {which} of server {n}"
            );
        }
    }
    for (n, link) in links.iter().enumerate() {
        let published = async {
            while fleet.servers.status(n, link).await.is_none_or(|status| status.board_length == 0)
            {
                tokio::time::sleep(PAUSE).await;
            }
        };
        fleet.servers.in_time("the epoch is published", published).await;
    }
    for board in fleet.servers.boards(&links[0]).await {
        let mut said: Vec<_> =
            board.entries.iter().flat_map(|signed| signed.entry.bodies()).collect();
        said.sort_unstable();
        assert_eq!(said, [b"member 0", b"member 1", b"member 2"]);
    }
}

/// A room for members, and its link at each server's proxy.
async fn room(fleet: &Fleet, host: &SigningKey) -> Vec<Link> {
    let token = std::fs::read_to_string(fleet.token_file()).expect("the token");
    // It closes when all three have handed something in.
    let named = NewRoom::named("Members");
    let limits = NewRoom { payload: 64, capacity: 3, seconds: 60, minimum: 1, ..named };
    let room =
        NewRoom { host: Some(host.verifying_key()), admission: Admission::Members, ..limits };
    let request =
        reqwest::Client::new().post(format!("{}/api/v1/rooms", fleet.engine(0))).json(&room);
    let (status, text) = answer(request.bearer_auth(token.trim())).await;
    assert_eq!(status, 201, "{text}");
    let info: RoomInfo = serde_json::from_str(&text).expect("a room");
    let template = fleet.room(5).await;
    let room = parse_room(&info.id).expect("an id");
    for (n, which) in (0..3).flat_map(|n| (0..INTAKES).map(move |which| (n, which))) {
        let url = format!("{}/api/v1/rooms/{}", fleet.intake(n, which), info.id);
        let known = async {
            while !reqwest::get(&url).await.is_ok_and(|answer| answer.status().is_success()) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        fleet.servers.in_time("an intake process hears of the room", known).await;
    }
    template.into_iter().map(|link| Link { room, ..link }).collect()
}

/// Links that lead to intake processes themselves.
fn at_intakes(fleet: &Fleet, links: &[Link], which: usize) -> Vec<Link> {
    let at = |(n, link): (usize, &Link)| Link {
        origin: fleet.intake(n, (n + which) % INTAKES),
        ..link.clone()
    };
    links.iter().enumerate().map(at).collect()
}

/// The status that a server answers presence with.
async fn presence(participant: &Rogue, n: usize) -> u16 {
    let said = participant.presence(n, now());
    let (status, text) =
        answer(participant.http.post(participant.path(n, "presence")).json(&said)).await;
    assert!(status != 403 || text.contains("the room is for members"), "{text}");
    status.as_u16()
}

/// The host admits the members but one, whom it makes a link, at the first server's engine: an
/// intake process sends it there.
async fn admit(fleet: &Fleet, anybody: &Rogue, host: &SigningKey) {
    let key = |seed: u8| SigningKey::from_seed(&[seed; 32]).verifying_key();
    let keys = MEMBERS[..INVITED].iter().map(|seed| key(*seed)).collect();
    let mut log = HostLog::new(&anybody.servers, &anybody.room.descriptor);
    for deed in [Deed::Admit { keys }, Deed::Invite { keys: vec![key(LINK)] }] {
        let action = log.act(host, now(), deed);
        assert_eq!(at_the_engine(fleet, anybody, "actions", &action).await, 201);
        log.apply(&action).expect("as the server says");
    }
}

/// Sends something to the first server's intake process, which names the engine, and then there.
/// What the engine answers.
async fn at_the_engine(
    fleet: &Fleet,
    from: &Rogue,
    what: &str,
    body: &impl serde::Serialize,
) -> u16 {
    let (status, text) = answer(from.http.post(from.path(0, what)).json(body)).await;
    assert!(status == 421 && text.contains(&fleet.engine(0)), "{status} {text}");
    let path = from.path(0, what).replace(&from.links[0].origin, &fleet.engine(0));
    let (status, text) = answer(from.http.post(path).json(body)).await;
    assert!(status == 201 || text.contains("another device"), "{text}");
    status.as_u16()
}

/// The device that opens the link takes the invitation, and the next one does not.
async fn claim(fleet: &Fleet, device: &Rogue, links: &[Link]) {
    let link = SigningKey::from_seed(&[LINK; 32]);
    let sign = |seed: u8| {
        let key = SigningKey::from_seed(&[seed; 32]);
        Claim::sign(&links[0].servers, &links[0].room, &link, &key)
    };
    let first = sign(MEMBERS[INVITED]);
    assert_eq!(at_the_engine(fleet, device, "claims", &first).await, 201);
    assert_eq!(at_the_engine(fleet, device, "claims", &first).await, 201, "the same again");
    assert_eq!(at_the_engine(fleet, device, "claims", &sign(STRANGER)).await, 409);
}

/// Everybody says something in one epoch; in the next one, if it is over before everybody has a
/// slot.
async fn say(members: &[Rogue]) {
    'epoch: loop {
        let epoch = members[0].epoch().await;
        let mut submissions = Vec::new();
        for (n, member) in members.iter().enumerate() {
            member.present(n).await;
            let Some(issues) = member.issues(epoch).await else { continue 'epoch };
            submissions.push(member.submission(&issues, &format!("member {n}")));
        }
        for (member, submission) in members.iter().zip(&submissions) {
            // The server that closes epochs comes last: with everything there it may close this one
            // before the others have theirs.
            for n in (0..3).rev() {
                let (status, text) = answer(member.submit(n, epoch, submission)).await;
                assert_eq!(status, 202, "{text}");
            }
        }
        return;
    }
}
