use std::path::Path;

use ostrakon_client::Millis;

use super::*;
use crate::client::connection::driver::played::play;
use crate::joining_script::{CANVASSES, CanvassScript, Played};

#[tokio::test(start_paused = true)]
async fn the_command_line_asks_about_join_links_as_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    for (name, count) in CANVASSES.into_iter().zip([3, 2]) {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let script: CanvassScript = serde_json::from_str(&text).unwrap();
        let machine = Canvass::new(script.call.clone(), Secret::new(script.seed));
        let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
        let wishes: &[(Millis, ())] = &[];
        let mut ends = Vec::new();
        let other = |_: &mut Canvass, _, news| ends.push(news);
        let played = play(time, played, machine, wishes, |_, _, ()| {}, other).await;
        assert_eq!(played.asked, script.exchanges, "{name}");
        let [CanvassNews::Done(answers)] = &ends[..] else { panic!("{name}: {ends:?}") };
        assert_eq!(answers.len(), count, "{name}");
    }
}
