use std::path::Path;

use ostrakon_client::Millis;

use super::*;
use crate::client::connection::driver::played::play;
use crate::exchange::Played;
use crate::host_script::{OPENINGS, OpeningScript};

#[tokio::test(start_paused = true)]
async fn the_command_line_opens_rooms_as_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    for name in OPENINGS {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let script: OpeningScript = serde_json::from_str(&text).unwrap();
        let pinned = servers_of(&serde_json::from_value(script.servers.clone()).unwrap());
        let order: Vec<_> = script.order.iter().copied().map(PartyId).collect();
        let seed = Secret::new(script.seed);
        let opening = Opening::new(pinned.unwrap(), &order, script.wish.clone(), seed);
        let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
        let wishes: &[(Millis, ())] = &[];
        let mut news = Vec::new();
        let other = |_: &mut Opening, _, one| news.push(one);
        let played = play(time, played, opening, wishes, |_, _, ()| {}, other).await;
        assert_eq!(played.asked, script.exchanges, "{name}");
        assert_eq!(news.last(), Some(&OpeningNews::Over { late: Vec::new() }));
    }
}
