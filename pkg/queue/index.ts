export { createAnnouncer, type Announcement, type Announcer } from './announcements.ts';
export { subscribe, type Subscription } from './subscription.ts';
export { connectForCommands } from './connection.ts';
