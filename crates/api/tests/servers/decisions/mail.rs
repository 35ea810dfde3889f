//! Links to decisions by e-mail, over a mail server that the test plays.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use ostrakon_crypto::SigningKey;
use ostrakon_decide::record::mail_digest;
use ostrakon_decide::{Invitation, Link};
use ostrakon_node::config::Mail;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::MailRequest;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::asking::Asking;
use super::group::{Group, creator, invitation, refused};
use crate::common::{Deployment, key};

/// What the mail server was given.
type Inbox = Arc<Mutex<Vec<String>>>;

async fn mail_server() -> (SocketAddr, Inbox) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let inbox = Inbox::default();
    let kept = Arc::clone(&inbox);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, Arc::clone(&kept)));
        }
    });
    (address, inbox)
}

/// As much of RFC 5321 as is needed; it refuses addresses that begin with `nobody`.
async fn converse(stream: TcpStream, inbox: Inbox) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 test\r\n").await?;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let answer = match line.get(..4).unwrap_or_default() {
            "DATA" => {
                stream.write_all(b"354 go on\r\n").await?;
                let mut message = String::new();
                while !message.ends_with("\r\n.\r\n") {
                    stream.read_line(&mut message).await?;
                }
                inbox.lock().unwrap().push(message);
                "250 taken\r\n"
            }
            "QUIT" => "221 bye\r\n",
            "RCPT" if line.contains("<nobody") => "550 no such person\r\n",
            _ => "250 well\r\n",
        };
        stream.write_all(answer.as_bytes()).await?;
    }
}

fn request(
    group: &Group,
    signer: &SigningKey,
    person: u16,
    address: &str,
    link: &str,
    locale: &str,
) -> MailRequest {
    let signature =
        signer.sign(&mail_digest(&group.operators, &group.id, person, address, link, locale));
    MailRequest {
        person,
        address: address.into(),
        link: link.into(),
        locale: locale.into(),
        signature,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn links_are_mailed_for_the_creator_and_nothing_else_is() {
    let (address, inbox) = mail_server().await;
    let deployment = Deployment::start_changed(|config| {
        let mail = Mail {
            smtp: format!("smtp://{address}"),
            from: "Decisions <decisions@example.org>".into(),
            user: None,
            password_file: None,
        };
        config.mail = (config.party == 0).then_some(mail);
    })
    .await;
    let mut group = Group::create(&deployment, 2, 1).await;
    let (p0, id) = (&deployment.servers[0], group.id);
    for (party, server) in deployment.servers.iter().enumerate() {
        assert_eq!(
            server.servers().await.unwrap().mail,
            party == 0,
            "each server says whether it sends e-mail"
        );
    }
    let link = |origin: &str, invitation: Option<Invitation>| {
        Link { origin: origin.into(), decision: id, servers: group.operators.digest, invitation }
            .to_string()
    };
    let of_1 = link("http://127.0.0.1:1", Some(invitation(1)));
    let ask = |person, address: &str, link: &str| {
        request(&group, &creator(), person, address, link, "en")
    };

    for (wrong, words) in [
        (
            ask(1, "a@example.org", &link("http://127.0.0.1:9", Some(invitation(1)))),
            "this deployment",
        ),
        (
            ask(1, "a@example.org", &link("http://127.0.0.1:1", Some(invitation(2)))),
            "not this person's",
        ),
        (ask(1, "a@example.org", &link("http://127.0.0.1:1", None)), "not this person's"),
        (ask(1, "a@example.org", &format!(" {of_1}")), "no link"),
        (ask(1, "a@example.org", "http://elsewhere.example/"), "no link"),
        (ask(9, "a@example.org", &of_1), "nobody with this number"),
        (ask(1, "a@example.org\r\nBcc: b@example.org", &of_1), "no e-mail address"),
        (ask(1, &format!("{}@example.org", "a".repeat(300)), &of_1), "no e-mail address"),
    ] {
        refused(p0.mail(id, wrong).await, words);
    }
    let strangers = p0.mail(id, request(&group, &key(1), 1, "a@example.org", &of_1, "en")).await;
    assert!(matches!(strangers, Err(ServiceError::Forbidden(_))), "{strangers:?}");
    let elsewhere = deployment.servers[1].mail(id, ask(1, "a@example.org", &of_1)).await;
    assert!(matches!(elsewhere, Err(ServiceError::NotFound(_))), "{elsewhere:?}");
    assert!(inbox.lock().unwrap().is_empty());

    p0.mail(id, ask(1, "ada@example.org", &of_1)).await.expect("sent");
    let of_0 = link("http://127.0.0.1:2", None);
    let german = request(&group, &creator(), 0, "bea@example.org", &of_0, "de");
    p0.mail(id, german).await.expect("sent");
    let rejected = p0.mail(id, ask(1, "nobody@example.org", &of_1)).await;
    assert!(matches!(rejected, Err(ServiceError::Unavailable(_))), "{rejected:?}");
    let [reminder, once_more] = [(); 2].map(|()| ask(1, "ada@example.org", &of_1));
    group.accept(&deployment, 1).await;
    p0.mail(id, reminder).await.expect("sent again");
    let again = p0.mail(id, once_more).await;
    assert!(
        matches!(&again, Err(ServiceError::Conflict(text)) if text.contains("at most 3")),
        "{again:?}"
    );

    were_mailed(&inbox.lock().unwrap(), &of_1);
}

fn were_mailed(inbox: &[String], of_1: &str) {
    // Quoted-printable folds long lines.
    let inbox: Vec<_> = inbox.iter().map(|message| message.replace("=\r\n", "")).collect();
    assert_eq!(inbox.len(), 3);
    assert!(
        inbox[0].contains("To: ada@example.org\r\n") && inbox[0].contains(of_1),
        "{}",
        inbox[0]
    );
    assert!(
        inbox[0].contains("Hello person 1,") && inbox[0].contains("> Shall we?"),
        "{}",
        inbox[0]
    );
    assert!(
        inbox[0].contains("Two short visits:") && inbox[0].contains("1. Accept by 20"),
        "{}",
        inbox[0]
    );
    assert!(
        inbox[2].contains("You have accepted already") && !inbox[2].contains("Accept by"),
        "{}",
        inbox[2]
    );
    assert!(
        inbox[1].contains("To: bea@example.org\r\n") && inbox[1].contains("Hallo person 0,"),
        "{}",
        inbox[1]
    );
}
