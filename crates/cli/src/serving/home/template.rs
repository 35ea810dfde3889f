//! A configuration as text with comments.

use std::fmt::Write;
use std::path::Path;

use ostrakon_node::config::{Config, Https};

const HEAD: &str = "\
# The configuration of one Ostrakon server. `ostrakon config check FILE` says everything that is wrong with it.
# Relative paths start at this file. docs/operating.md explains every setting.
";

/// The text of a configuration that `init` makes.
pub fn text(config: &Config) -> String {
    let mut text = HEAD.to_owned();
    let mut line = |comment: &str, setting: String| {
        // Writing into a string does not fail.
        let _ = write!(text, "\n# {}\n{setting}\n", comment.replace('\n', "\n# "));
    };
    line(
        "This server's place in the list of servers below, from 0. The same order in all three configurations.",
        format!("party = {}", config.party),
    );
    line(
        "Where the public interface listens: the page, and what participants send.",
        value("http", config.http),
    );
    line(
        "Where the two other servers connect. Open it in the firewall for them and for nobody else.",
        value("mesh", config.mesh),
    );
    line(
        "Database and stock. No two servers may have the same, and no old copy may ever be put here.",
        path("data", &config.data),
    );
    line(
        "The key that links pin. Or leave it out and set the environment variable OSTRAKON_IDENTITY.",
        path("identity_file", &config.identity_file),
    );
    line(
        "The administrator's tokens, one a line; read again when the file changes. Or OSTRAKON_ADMIN_TOKEN.",
        path("admin_token_file", &config.admin_token_file),
    );
    line(
        "What is logged: warn, info, debug, or directives like \"ostrakon_net=debug\". Read again on SIGHUP.",
        value("log", config.log.as_deref().unwrap_or("info")),
    );
    let unusual = unusual(config);
    for (name, setting) in unusual.iter().filter(|(_, setting)| !setting.is_table()) {
        line("A further setting.", format!("{name} = {setting}"));
    }
    https(&config.https, &mut line);
    let stock = config.stock;
    line(
        "Stock: batches to hold ready for every size of room, and bytes on disk at most.",
        format!("[stock]\nready = {}\nbytes = {}", stock.ready, stock.bytes),
    );
    for (name, setting) in unusual.iter().filter(|(_, setting)| setting.is_table()) {
        let comment = match name.as_str() {
            "limits" if config.limits.behind_proxy => {
                "With behind_proxy a proxy in front speaks HTTPS. What it says about clients' addresses is believed, so nobody\n\
                 else may reach `http`."
            }
            _ => "Further settings.",
        };
        line(
            comment,
            toml::to_string(&toml::Table::from_iter([(name.clone(), setting.clone())]))
                .expect("a table"),
        );
    }
    for (i, server) in config.servers.iter().enumerate() {
        let comment = if i == 0 { "The three servers, from their cards." } else { "" };
        let entry = [
            "[[servers]]".to_owned(),
            value("name", &server.name),
            value("url", &server.url),
            value("address", &server.address),
            value("key", server.key.to_hex()),
        ];
        line(comment, entry.join("\n"));
    }
    text.replace("\n# \n", "\n")
}

/// Settings of which the text above says nothing, where they are not the usual ones.
fn unusual(config: &Config) -> toml::Table {
    const TOLD: [&str; 9] = [
        "party",
        "http",
        "mesh",
        "data",
        "identity_file",
        "admin_token_file",
        "log",
        "https",
        "stock",
    ];
    let table = |config: &Config| {
        toml::Table::try_from(config).expect("plain settings can be written as TOML")
    };
    let usual = table(&Config::new(config.party, config.http, config.mesh, config.servers.clone()));
    let told = |name: &str| TOLD.contains(&name) || name == "servers";
    table(config)
        .into_iter()
        .filter(|(name, setting)| !told(name) && usual.get(name) != Some(setting))
        .collect()
}

fn https(https: &Https, line: &mut impl FnMut(&str, String)) {
    if let Some((certificate, key)) = https.certificate_file.as_ref().zip(https.key_file.as_ref()) {
        let settings = format!(
            "[https]\n{}\n{}",
            path("certificate_file", certificate),
            path("key_file", key)
        );
        line(
            "The certificate of the public interface, in PEM; read again when it changes.",
            settings,
        );
    }
    if let Some(acme) = &https.acme {
        let list = |name: &str, items: &[String]| {
            let items: Vec<_> = items.iter().map(|item| quoted(item)).collect();
            format!("{name} = [{}]", items.join(", "))
        };
        let mut settings = vec![
            "[https.acme]".to_owned(),
            list("domains", &acme.domains),
            list("contact", &acme.contact),
        ];
        settings.push(value("authority", &acme.authority));
        settings.push(path("cache", &acme.cache));
        if let Some(roots) = &acme.authority_roots {
            settings.push(path("authority_roots", roots));
        }
        line(
            "Certificates are ordered by ACME. `http` must be what the world reaches at port 443.",
            settings.join("\n"),
        );
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn value(name: &str, value: impl ToString) -> String {
    format!("{name} = {}", quoted(&value.to_string()))
}

fn path(name: &str, path: &Path) -> String {
    value(name, path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_crypto::SigningKey;
    use ostrakon_node::config::{Acme, ServerConfig};

    #[test]
    fn what_is_written_is_what_was_meant() {
        let server = |n: u8| ServerConfig {
            name: format!("the \"{n}\"\\"),
            url: format!("https://{n}.example"),
            address: format!("{n}.example:7100"),
            key: SigningKey::from_seed(&[n; 32]).verifying_key(),
        };
        let (http, mesh) = ("0.0.0.0:443".parse().unwrap(), "0.0.0.0:7100".parse().unwrap());
        let mut plain = Config::new(2, http, mesh, (0..3).map(server).collect());
        plain.log = Some("info".into());
        let mut proxied = plain.clone();
        proxied.limits.behind_proxy = true;
        let mut own = plain.clone();
        own.https.certificate_file = Some("/etc/ostrakon/certificate.pem".into());
        own.https.key_file = Some("key.pem".into());
        let mut ordered = plain;
        ordered.https.acme = Some(Acme {
            domains: vec!["2.example".into()],
            contact: vec!["mailto:a@2.example".into()],
            authority: "https://authority.example/directory".into(),
            cache: "acme".into(),
            authority_roots: Some("roots.pem".into()),
        });
        for config in [proxied, own, ordered] {
            let text = text(&config);
            assert_eq!(toml::from_str::<Config>(&text).unwrap(), config, "{text}");
            assert_eq!(config.problems(), Vec::<String>::new());
        }
    }
}
