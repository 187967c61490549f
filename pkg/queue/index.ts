export { createAnnouncer, subscribe, type Announcement, type Announcer, type Subscription } from './announcements.ts';
export { connectForCommands } from './connection.ts';
