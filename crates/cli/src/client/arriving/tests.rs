use std::path::Path;

use super::*;
use crate::arriving_script::{ARRIVALS, Played, Script};
use crate::client::connection::driver::played::play;

#[tokio::test(start_paused = true)]
async fn the_command_line_arrives_as_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client/tests/traces");
    for name in ARRIVALS {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        let script: Script = serde_json::from_str(&text).unwrap();
        let arriving = Arriving::new(script.destination(), None, Secret::new(script.seed));
        let (time, played) = ((script.start, script.lasts), Played::new(&script.exchanges));
        let wishes: &[(Millis, ())] = &[];
        let mut news = Vec::new();
        let other = |_: &mut Arriving, _, one| news.push(one);
        let played = play(time, played, arriving, wishes, |_, _, ()| {}, other).await;
        assert_eq!(played.asked, script.exchanges, "{name}");
        let [ArrivingNews::Found(_), ArrivingNews::Arrived(arrived)] = &news[..] else {
            panic!("{name}: {news:?}")
        };
        assert_eq!(arrived.room.is_some(), script.room.is_some());
    }
}

#[test]
fn why_a_server_does_not_answer_is_told_as_the_connection_knows_it() {
    let way = Way::new(&reqwest::Client::new(), "http://p0.example");
    let at = || "http://p0.example".to_owned();
    let told = |failure| format!("{}", way.failed(failure));
    assert!(told(ArrivingFailure::Away { at: at() }).contains("no answer came in time"));
    let silence = CallError::Unreachable { origin: at(), cause: "Connection refused".into() };
    way.silence.lock().unwrap().insert(at(), silence);
    assert!(told(ArrivingFailure::Away { at: at() }).contains("Connection refused"));
    let code = |failure| failure::is_unreachable(&way.failed(failure));
    assert!(code(ArrivingFailure::Away { at: at() }));
    assert!(!code(ArrivingFailure::Malformed { at: at(), why: "no list".into() }));
}
