//! How a room stands, for people who have never heard of shares (spec W6).

use ostrakon_asynchromix::Description;
use ostrakon_asynchromix::visitor::{End, Here};
use ostrakon_party::PartyId;

/// The names of a room's servers.
pub fn names(description: &Description) -> Vec<String> {
    description.servers.iter().map(|card| card.name.clone()).collect()
}

/// A server's name.
pub fn name(names: &[String], party: PartyId) -> &str {
    names.get(party.index()).map_or("a server", String::as_str)
}

/// What is said of each server that was convicted.
pub fn convicted(here: &Here, names: &[String]) -> Vec<String> {
    let line = |(party, deed): &(PartyId, ostrakon_asynchromix::evidence::Deed)| {
        let name = name(names, *party);
        format!("{name} was caught: it {}. Nothing is prepared with it any more.", deed.in_words())
    };
    here.convicted.iter().map(line).collect()
}

/// For how many rounds what is prepared lasts, and what comes then.
pub fn stock(here: &Here) -> String {
    let ready = here.ready;
    let left = match ready {
        0 => "no further round is prepared".to_owned(),
        1 => "one further round is prepared".to_owned(),
        _ => format!("{ready} further rounds are prepared"),
    };
    let then = match here.ended {
        None => return format!("{left}, and more are being prepared"),
        Some(End::Away) => {
            "more need a server that is away; until it is back the room waits, and nothing is lost"
        }
        Some(End::Convicted) => {
            "more need a server that was caught lying: then this room is at its end, and a new one \
             is to be founded without that server"
        }
        Some(End::Spoilt) => {
            "what is prepared is spoilt again and again, and nobody can prove by whom: the servers' \
             operators must find out; until then the room waits, and nothing is lost"
        }
    };
    format!("{left}; {then}")
}

/// What helps where a server that every round needs is away. `servers` are all of the room.
pub fn remedy(here: &Here, servers: usize) -> Option<String> {
    (here.ended == Some(End::Away)).then(|| {
        format!(
            "what helps: whoever runs a server that does not answer starts it with its data, or \
             once with --restored if they are lost; where one may be away for long, found the \
             next room with {} servers",
            servers + 1
        )
    })
}

/// Whether the room is at its end for good: no round is under way, and none can come.
pub fn is_over(here: &Here) -> bool {
    let idle = here.collecting.is_none() && here.mixing == 0 && here.ready == 0;
    idle && here.ended == Some(End::Convicted)
}
