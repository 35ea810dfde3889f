//! Checking the page that operators serve.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::common::{complaint, file, json, run};
use sha2::{Digest, Sha256};

const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'";

/// Serves the files of a directory for the rest of the test; returns its origin.
fn serve(directory: PathBuf, policy: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap())
                .lines()
                .map(|line| line.unwrap_or_default());
            let request = lines.next().unwrap_or_default();
            for _ in lines.take_while(|line| !line.is_empty()) {}
            let path = request.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
            let path = if path.is_empty() { "index.html" } else { path };
            let (status, body) = fs::read(directory.join(path))
                .map_or(("404 Not Found", Vec::new()), |body| ("200 OK", body));
            let length = body.len();
            let header = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\ncontent-security-policy: {policy}\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(header.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    origin
}

/// A page of two files with its list.
fn page(parent: &Path, name: &str, script: &str) -> PathBuf {
    let directory = parent.join(name);
    fs::create_dir_all(directory.join("assets")).unwrap();
    let hex = |text: &str| data_encoding::HEXLOWER.encode(&Sha256::digest(text));
    let (index, path) = ("<!doctype html>", "assets/a.js");
    file(&directory, "index.html", index);
    file(&directory, path, script);
    let list = serde_json::json!({ "files": { path: hex(script), "index.html": hex(index) } });
    file(&directory, "hashes.json", &list.to_string());
    directory
}

#[test]
fn a_page_that_differs_anywhere_is_found() {
    let root = tempfile::tempdir().unwrap();
    let (good, other) =
        (page(root.path(), "good", "let a = 1"), page(root.path(), "other", "let a = 2"));
    let key = root.path().join("release-key");
    let signed = run(&["sign-web", good.to_str().unwrap(), "--key", key.to_str().unwrap()]);
    let release = String::from_utf8(signed.stdout).unwrap().trim().to_owned();
    let (first, second) = (serve(good.clone(), POLICY), serve(good.clone(), POLICY));
    let dist = good.to_str().unwrap();
    let found =
        json(&["verify-web", &first, &second, "--release", &release, "--dist", dist, "--json"]);
    assert_eq!((&found[0]["same"], &found[0]["servers"][1]["files"]), (&true.into(), &3.into()));

    let elsewhere = serve(other.clone(), POLICY);
    complaint(&["verify-web", &first, &elsewhere], 3);
    complaint(&["verify-web", &elsewhere, "--dist", dist], 3);
    complaint(&["verify-web", &elsewhere, "--release", &release], 3);
    complaint(&["verify-web", &first, "--release", &"0".repeat(64)], 3);
    let lax = serve(good.clone(), "default-src 'none'; script-src 'self' 'unsafe-inline'");
    complaint(&["verify-web", &lax], 3);
    file(&other, "assets/a.js", "let a = 3");
    complaint(&["verify-web", &elsewhere], 3);
    complaint(&["verify-web", "http://127.0.0.1:1"], 4);
    complaint(&["verify-web", "somewhere"], 1);
    // A link is a secret, and may come from a file.
    file(root.path(), "link", "http://127.0.0.1:1\n");
    complaint(&["verify-web", &format!("@{}", root.path().join("link").display())], 4);
    assert!(
        complaint(&["sign-web", other.to_str().unwrap(), "--key", key.to_str().unwrap()], 1)
            .contains("a.js")
    );
}

#[test]
fn every_command_has_a_manual_page() {
    let root = tempfile::tempdir().unwrap();
    assert!(run(&["man", root.path().to_str().unwrap()]).status.success());
    for command in ["ostrakon", "ostrakon-serve", "ostrakon-room-create", "ostrakon-verify-web"] {
        let page = fs::read_to_string(root.path().join(format!("{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
}
