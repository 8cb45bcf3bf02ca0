//! A lock that is a row locked by `SELECT … FOR UPDATE` for as long as a transaction is open.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use mysql_async::{Conn, Opts, prelude::Queryable};

use super::{Contender, Failed, Servers, Site};

pub(super) async fn prepare(options: &Opts, name: &str) -> Result<(), Failed> {
    let mut connection = Conn::new(options.clone()).await?;
    connection.query_drop(format!("CREATE TABLE {name} (id INT PRIMARY KEY) ENGINE=InnoDB")).await?;
    Ok(connection.query_drop(format!("INSERT INTO {name} VALUES (1)")).await?)
}

pub(super) async fn clean(options: &Opts, name: &str) -> Result<(), Failed> {
    let mut connection = Conn::new(options.clone()).await?;
    // A user without permission to create tables has created none, and `DROP TABLE` would only fail.
    let there: Option<String> = connection.query_first(format!("SHOW TABLES LIKE '{name}'")).await?;
    if there.is_some() {
        connection.query_drop(format!("DROP TABLE IF EXISTS {name}")).await?;
    }
    Ok(())
}

pub(super) async fn reach(options: &Opts) -> Result<(), Failed> {
    Ok(Conn::new(options.clone()).await?.disconnect().await?)
}

struct ForUpdate {
    site: Arc<Site>,
    connection: Conn,
}

pub(super) async fn for_update(site: Arc<Site>) -> Result<Box<dyn Contender>, Failed> {
    let Servers::Sql(options) = &site.servers else { return Err("this is no SQL server".into()) };
    let connection = Conn::new(options.clone()).await?;
    Ok(Box::new(ForUpdate { site, connection }))
}

impl ForUpdate {
    async fn ask(&mut self, statement: &str) -> Result<(), Failed> {
        self.site.count_request();
        Ok(self.connection.query_drop(statement).await?)
    }
}

impl Contender for ForUpdate {
    fn lock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        async {
            self.ask("START TRANSACTION").await?;
            let statement = format!("SELECT id FROM {} WHERE id = 1 FOR UPDATE", self.site.name);
            self.ask(&statement).await
        }
        .boxed()
    }

    fn unlock(&mut self) -> BoxFuture<'_, Result<(), Failed>> {
        self.ask("COMMIT").boxed()
    }
}
